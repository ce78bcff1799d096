// Makes a container in Azurite, whose account and key everybody knows: node container.mjs URL NAME
import { createHmac } from "node:crypto";

const account = "devstoreaccount1";
const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const [url, name] = process.argv.slice(2);
const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-08-06" };
const named = Object.entries(headers).map(([header, value]) => `${header}:${value}`);
const resource = `/${account}/${account}/${name}\nrestype:container`;
const signed = ["PUT", ...Array(11).fill(""), ...named, resource].join("\n");
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(signed).digest("base64");
const answer = await fetch(`${url}/${account}/${name}?restype=container`, {
  method: "PUT",
  headers: { ...headers, authorization: `SharedKey ${account}:${signature}` },
});
if (answer.status !== 201) {
  throw new Error(`${answer.status}: ${await answer.text()}`);
}
