//! A browser of one's own for each test: chromedriver on a free port, a fresh profile, and the few
//! gestures a reader has. Both processes end with the test, whether it passes or not.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{
        ActionSequence, InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions,
        PointerAction, TouchActions,
    },
    wd::{Capabilities, WebDriverCompatibleCommand},
};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};

const INSTALL: &str =
    "chromium and its driver are needed: apt-get install chromium chromium-driver fonts-noto-cjk";

/// What a test reads with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    /// A window of 1280 × 900 and a mouse.
    Desktop,
    /// A touch screen of 360 × 740.
    Phone,
    /// As `Desktop`, with JavaScript switched off.
    NoScript,
}

/// An open page.
#[derive(Clone)]
pub(crate) struct Page {
    client: Client,
    site: String,
}

/// Runs `test` in a browser that shows the front page of the site at `site`.
pub(crate) fn read<T>(site: &str, device: Device, test: impl FnOnce(Page) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let driver = Driver::start();
    let profile = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities(device, profile.path().to_str().unwrap()))
            .connect(&driver.url)
            .await
            .expect(INSTALL);
        let page = Page { client: client.clone(), site: site.to_owned() };
        page.visit("").await;
        let outcome = tokio::spawn(test(page)).await;
        client.close().await.unwrap();
        if let Err(failure) = outcome {
            std::panic::resume_unwind(failure.into_panic());
        }
    });
}

impl Page {
    /// Goes to a page of the site.
    pub(crate) async fn visit(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.site)).await.unwrap();
    }

    /// The value of a JavaScript function body.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// The first true value of a JavaScript expression, which is tried at every frame.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[0];
             (function poll() {{ const value = {expression}; value ? done(value) : requestAnimationFrame(poll) }})()"
        );
        let found = self.client.execute_async(&script, vec![]).await;
        match found {
            Ok(value) => value,
            Err(error) => {
                panic!("never came true: {expression}\n{error}\npopup: {}", self.popup().await)
            }
        }
    }

    /// The text of the popup; empty when it is closed.
    pub(crate) async fn popup(&self) -> String {
        let text = self
            .ask("return document.querySelector('#popup:not([hidden])')?.innerText ?? ''")
            .await;
        text.as_str().unwrap().to_owned()
    }

    /// The highlighted text.
    pub(crate) async fn highlighted(&self) -> String {
        let text = self.ask("return [...CSS.highlights.get('word')].join('')").await;
        text.as_str().unwrap().to_owned()
    }

    /// Moves the mouse onto a character of `words`, a stretch of base text, scrolling to it if need be.
    pub(crate) async fn point_at(&self, words: &str, character: usize) {
        let to = self.place_of(words, character).await;
        self.perform(MouseActions::new("mouse".to_owned()).then(to)).await;
    }

    /// Moves the mouse to a point of the window.
    pub(crate) async fn point_to(&self, x: f64, y: f64) {
        self.perform(MouseActions::new("mouse".to_owned()).then(PointerAction::MoveTo {
            duration: None,
            x,
            y,
        }))
        .await;
    }

    /// Clicks a character of `words`.
    pub(crate) async fn click(&self, words: &str, character: usize) {
        let to = self.place_of(words, character).await;
        let mouse = MouseActions::new("mouse".to_owned())
            .then(to)
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.perform(mouse).await;
    }

    /// Clicks an element.
    pub(crate) async fn press_on(&self, selector: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    /// Empties a field.
    pub(crate) async fn empty(&self, selector: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().clear().await.unwrap();
    }

    /// Writes into a field.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().send_keys(text).await.unwrap();
    }

    /// Touches a character of `words` with a finger.
    pub(crate) async fn tap(&self, words: &str, character: usize) {
        let to = self.place_of(words, character).await;
        let finger = TouchActions::new("finger".to_owned())
            .then(to)
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.perform(finger).await;
    }

    /// Presses and releases keys, one after another.
    pub(crate) async fn press(&self, keys: &[char]) {
        let actions = keys.iter().fold(KeyActions::new("keys".to_owned()), |actions, &value| {
            actions.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.perform(actions).await;
    }

    /// Waits for another page that has an element.
    pub(crate) async fn arrive(&self, selector: &str) {
        self.client.wait().for_element(Locator::Css(selector)).await.unwrap();
    }

    /// Whether no part of an element lies outside the window.
    pub(crate) async fn is_within_window(&self, selector: &str) -> bool {
        self.settle().await;
        let script = format!(
            "const box = document.querySelector({selector:?}).getBoundingClientRect();
             return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight && box.width > 100"
        );
        self.ask(&script).await == true
    }

    /// Keeps what the window shows as `target/screenshots/NAME.png`.
    pub(crate) async fn screenshot(&self, name: &str) {
        self.settle().await;
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.png")), self.client.screenshot().await.unwrap())
            .unwrap();
    }

    /// What the browser's console has complained of since the last call: errors, blocked content.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.client.issue_cmd(Log).await.unwrap();
        log.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }

    async fn settle(&self) {
        self.until(
            "document.getAnimations().every(animation => animation.playState === 'finished')",
        )
        .await;
    }

    async fn perform(&self, actions: impl Into<ActionSequence>) {
        self.client.perform_actions(actions.into()).await.unwrap();
    }

    async fn place_of(&self, words: &str, character: usize) -> PointerAction {
        let found = self.client.execute(PLACE, vec![json!(words), json!(character)]).await.unwrap();
        let place = |axis: &str| {
            found[axis].as_f64().unwrap_or_else(|| panic!("`{words}` is not on the page"))
        };
        PointerAction::MoveTo { duration: None, x: place("x"), y: place("y") }
    }
}

/// Where a character of a stretch of base text is drawn.
const PLACE: &str = r"
    const [words, character] = arguments;
    for (const element of document.querySelectorAll('[data-text]')) {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), places = [];
      for (let node; node = walker.nextNode();) {
        if (!node.parentElement.closest('rt')) for (let at = 0; at < node.length; at++) places.push([node, at]);
      }
      const start = places.map(([node, at]) => node.data[at]).join('').indexOf(words);
      if (start < 0) continue;
      const [node, at] = places[start + character], range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      let box = range.getBoundingClientRect();
      if (box.top < 0 || box.bottom > innerHeight) {
        scrollBy(0, box.top - innerHeight / 2);
        box = range.getBoundingClientRect();
      }
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    }
    return {};";

fn capabilities(device: Device, profile: &str) -> Capabilities {
    let mut options = json!({
        "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
            "--window-size=1280,1000", format!("--user-data-dir={profile}"),
        ],
    });
    if device == Device::Phone {
        options["mobileEmulation"] = json!({ "deviceMetrics": { "width": 360, "height": 740, "pixelRatio": 2.0, "touch": true } });
    }
    if device == Device::NoScript {
        options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
    }
    let mut capabilities = Capabilities::new();
    capabilities.insert("goog:loggingPrefs".to_owned(), json!({ "browser": "WARNING" }));
    capabilities.insert("goog:chromeOptions".to_owned(), options);
    capabilities
}

/// Chromium's own command for reading the console.
#[derive(Debug)]
struct Log;

impl WebDriverCompatibleCommand for Log {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

/// A running chromedriver.
struct Driver {
    process: Child,
    url: String,
}

impl Driver {
    fn start() -> Driver {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn()
            .expect(INSTALL);
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| {
                Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned())
            })
            .expect("chromedriver names its port");
        Driver { process, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
