//! An HTTP origin that answers what it is told, in order, and remembers what it was asked. With nothing left to
//! answer it closes the connection.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
};

pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    answers: Mutex<VecDeque<String>>,
    asked: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
    held: watch::Sender<bool>,
}

impl Origin {
    pub(crate) async fn start() -> Arc<Origin> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = Arc::new(Origin {
            address: listener.local_addr().unwrap(),
            answers: Mutex::default(),
            asked: Mutex::default(),
            count: watch::Sender::new(0),
            held: watch::Sender::new(false),
        });
        let accepting = origin.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let origin = accepting.clone();
                tokio::spawn(async move { origin.serve(stream).await });
            }
        });
        origin
    }

    /// Appends an answer: a status, headers, an empty line, a body. `{name}` in the body stands for a header
    /// of the request.
    pub(crate) fn tell(&self, answer: &str) {
        self.answers.lock().unwrap().push_back(answer.to_owned());
    }

    /// Answers nothing until [`Origin::release`].
    pub(crate) fn hold(&self) {
        self.held.send_replace(true);
    }

    pub(crate) fn release(&self) {
        self.held.send_replace(false);
    }

    /// Done when this many requests have come in all.
    pub(crate) async fn when_asked(&self, count: usize) {
        self.count.subscribe().wait_for(|asked| *asked >= count).await.unwrap();
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let request = read(&mut stream).await?;
            self.asked.lock().unwrap().push(request.clone());
            self.count.send_modify(|count| *count += 1);
            self.held.subscribe().wait_for(|held| !held).await.ok()?;
            let answer = self.answers.lock().unwrap().pop_front()?;
            let whole = write(&mut stream, &request, &answer).await?;
            if !whole {
                return None;
            }
        }
    }
}

/// One request: `GET /path`, headers, and `body: …` if there is one.
async fn read(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        request.push_str(line.strip_suffix(" HTTP/1.1").unwrap_or(line));
        request.push('\n');
    }
    if length > 0 {
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        request.push_str(&format!("body: {}\n", String::from_utf8_lossy(&body)));
    }
    Some(request)
}

/// Writes an answer; whether all that its length announced was there.
async fn write(stream: &mut BufReader<TcpStream>, request: &str, answer: &str) -> Option<bool> {
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    let mut body = body.to_owned();
    for line in request.lines().skip(1) {
        let (name, value) = line.split_once(": ")?;
        body = body.replace(&format!("{{{name}}}"), value);
    }
    let (status, headers) = head.split_once('\n').unwrap_or((head, ""));
    let mut written = format!("HTTP/1.1 {status} Scripted\r\n{}", headers.replace('\n', "\r\n"));
    if !headers.is_empty() {
        written.push_str("\r\n");
    }
    let chunked = headers.contains("transfer-encoding: chunked");
    let announced = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
    let bodiless = matches!(status, "204" | "304");
    if announced.is_none() && !chunked && !bodiless {
        written.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    written.push_str("\r\n");
    if request.starts_with("HEAD ") || bodiless {
        stream.write_all(written.as_bytes()).await.ok()?;
        return Some(true);
    }
    if chunked {
        for chunk in body.as_bytes().chunks(700) {
            written.push_str(&format!(
                "{:x}\r\n{}\r\n",
                chunk.len(),
                String::from_utf8_lossy(chunk)
            ));
        }
        written.push_str("0\r\n\r\n");
    } else {
        written.push_str(&body);
    }
    stream.write_all(written.as_bytes()).await.ok()?;
    Some(announced.is_none_or(|length| length.parse() == Ok(body.len())))
}
