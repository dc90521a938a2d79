//! A program that cannot reach its back end, or is refused by it, is told why on its standard error, where nothing else would write it down.

use std::env;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use visapult_pipeline::flow::{FlowOptions, FlowSource};
use visapult_publish::{FieldInfo, Grid, Publisher, PublisherOptions, RippUrl, ScalarType};
use visapult_ripp_net::{Identity, Token};

const PATIENCE: Duration = Duration::from_secs(60);
/// The back end that this process is to publish to, and nothing else.
const BACK_END: &str = "VISAPULT_TEST_BACK_END";
const NAME: &str = "troubles::a_program_is_told_why_its_back_end_takes_nothing";

fn one_rank() -> PublisherOptions {
    let grid = Grid::of_size([8, 4, 2]);
    let field =
        FieldInfo { name: "p".to_owned(), unit: String::new(), scalar_type: ScalarType::F32, declared_range: None };
    PublisherOptions::of_simulation("test".to_owned(), grid, vec![field])
}

/// Publishes until its standard input ends, or nobody has had patience for so long.
fn publish(url: &str) {
    let _publisher = Publisher::dial(&url.parse().unwrap(), one_rank()).unwrap();
    let (ended, has_ended) = mpsc::channel();
    thread::spawn(move || {
        let _ = ended.send(io::stdin().read_to_end(&mut Vec::new()));
    });
    let _ = has_ended.recv_timeout(PATIENCE);
}

/// This test as a program that publishes to `url`.
struct Program(Child);

impl Program {
    fn start(url: &RippUrl) -> Self {
        let mut program = Command::new(env::current_exe().unwrap());
        program.args(["--exact", NAME, "--nocapture"]).env(BACK_END, url.to_string());
        program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self(program.spawn().unwrap())
    }

    /// The first line that it is told.
    fn told(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_program_is_told_why_its_back_end_takes_nothing() {
    if let Ok(url) = env::var(BACK_END) {
        return publish(&url);
    }
    let at = "127.0.0.1:0".parse().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = Program::start(&format!("ripp://{nobody}/publish").parse().unwrap()).told();
    assert!(line.starts_with(&format!("visapult: {nobody} is not there")) && line.contains("tried again"), "{line}");

    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::load_or_create(folder.path()).unwrap();
    let door =
        FlowSource::listen(at, "127.0.0.1", Some((identity, Token::fresh().unwrap())), FlowOptions::default()).unwrap();
    let wrong = Token::fresh().unwrap();
    let line = Program::start(&RippUrl { token: Some(wrong.clone()), ..door.url().clone() }).told();
    assert!(line.starts_with("visapult: 127.0.0.1:") && line.contains("token"), "{line}");
    assert!(!line.contains(&wrong.encoded()), "{line}");

    let door = FlowSource::listen(at, "127.0.0.1", None, FlowOptions::default()).unwrap();
    let url = door.url().clone();
    let _first = Publisher::dial(&url, one_rank()).unwrap();
    let _source = door.wait(PATIENCE).unwrap().ok().expect("the first is taken");
    let line = Program::start(&url).told();
    assert!(line.starts_with("visapult: ") && line.contains("two programs publish under one name"), "{line}");
}
