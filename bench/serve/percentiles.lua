-- The percentile that wrk does not print.
done = function(summary, latency, requests)
   io.write(string.format("  99.9%%  %.3fms\n", latency:percentile(99.9) / 1000))
end
