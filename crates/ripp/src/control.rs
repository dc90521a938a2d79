//! Messages of the control channel: JSON objects with a `type`, in frames that the channel delimits.
//!
//! A message of a type that this build does not know is [`Message::Unknown`] and passed over, and so are fields it does not know: an older and
//! a newer build understand each other as far as the older does. What a *hello* offers and this build does not know is passed over; what it insists on
//! is kept as it was said, to be told of.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use crate::cipher::Cipher;
use crate::outbox::Mode;

/// Versions of the protocol that this build speaks, the preferred first.
pub const VERSIONS: [u32; 1] = [2];
/// Most bytes of a message.
pub const MOST_MESSAGE: usize = 64 * 1024;
/// Most bytes of the name of an object or flow.
pub const MOST_NAME: usize = 4096;
/// What is said of a flow that there cannot be.
pub const FLOW_BOUNDS: &str = "a flow has a name of at most 4096 bytes and a deadline of at most a day";
/// What is said of an object that there cannot be.
pub const OBJECT_BOUNDS: &str = "an object has a name of at most 4096 bytes and a length below 2^48";
/// Most lanes of a session.
pub const MOST_LANES: u16 = 64;

/// A message of the control channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Message {
    /// The listening end's word ahead of all others, to a dialling end that has said in TLS's handshake that it takes it.
    Greeting(Greeting),
    /// The dialling end's first message.
    Hello(Hello),
    /// The listening end's answer.
    Welcome(Welcome),
    /// The listening end will have nothing to do with it; the connection ends.
    Rejected {
        /// What, and what to do.
        why: String,
        /// What is served there, where that is something else than was dialled for, as the programs call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        serves: Option<String>,
    },
    /// The sending end opens a flow.
    Flow {
        /// Its number.
        flow: u16,
        /// Its name.
        name: String,
        /// What it promises.
        mode: Mode,
        /// Its share among the session's flows.
        weight: u32,
    },
    /// The sending end has an object.
    Offer {
        /// Its number, never used again in this session and direction.
        object: u32,
        /// Its flow.
        flow: u16,
        /// Its name.
        name: String,
        /// Its bytes.
        length: u64,
    },
    /// The receiving end has a place for it.
    Accept {
        /// The object.
        object: u32,
    },
    /// The receiving end does not want it.
    Refuse {
        /// The object.
        object: u32,
        /// Why.
        why: String,
    },
    /// The sending end has read all of a reliable object.
    Digest {
        /// The object.
        object: u32,
        /// Its [digest](crate::digest), in hexadecimal, or what the two programs have in its place.
        digest: String,
    },
    /// All of an object that may lose bytes has been sent once: what is still under way comes soon, or never.
    Sent {
        /// The object.
        object: u32,
    },
    /// Everything of an object that will ever come has come.
    Ended {
        /// The object.
        object: u32,
        /// Bytes that the sending end knows to have arrived.
        arrived: u64,
    },
    /// The receiving end is through with an object.
    Done {
        /// The object.
        object: u32,
        /// Bytes that it has.
        arrived: u64,
        /// Why it is of no use, if it is not.
        fault: Option<String>,
    },
    /// The sending end takes an object back.
    Cancel {
        /// The object.
        object: u32,
        /// Why.
        why: String,
    },
    /// The dialling end would like to have so many lanes in all.
    LanesWanted {
        /// How many.
        lanes: u16,
    },
    /// The listening end has opened further lanes, behind those that there are.
    Lanes {
        /// UDP ports of them.
        ports: Vec<u16>,
        /// Their addresses, where they are not all where the control channel is.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<IpAddr>,
    },
    /// A word from program to program, which means nothing to the transport. Notes arrive in order, among offers too.
    Note {
        /// The word.
        text: String,
    },
    /// Nothing but a sign of life.
    Alive,
    /// The session ends.
    Bye {
        /// Why; empty when all is done.
        why: String,
    },
    /// A message of a later version.
    #[serde(other)]
    Unknown,
}

/// How data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams over UDP.
    Udp,
    /// Streams of TLS over TCP.
    Tcp,
}

/// A word of another build: one that this build knows, or one of a later version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word<T> {
    /// We know it.
    Known(T),
    /// We do not.
    Unknown(String),
}

/// What lets a dialling end send data along with its hello: what the listening end would choose, and what it keeps of data that has no place yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Versions that it speaks.
    pub versions: Vec<u32>,
    /// Ciphers that it knows.
    #[serde(deserialize_with = "known")]
    pub ciphers: Vec<Cipher>,
    /// UDP port of the first lane, where the control channel is; of the first who shows what lets him in, so that the welcome may name another.
    pub port: u16,
    /// Bytes of IP packets at most, in either direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Bits of IP packets per second that it takes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bps: Option<u64>,
    /// Bytes of objects of reliable flows that may come before they are accepted.
    pub room: u64,
}

/// The dialling end's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Versions it speaks, the preferred first.
    pub versions: Vec<u32>,
    /// What the URL says.
    pub token: Option<String>,
    /// What is dialled: the name in the URL.
    pub name: String,
    /// Joins the session of this number as a further stream, instead of beginning one.
    #[serde(default)]
    pub join: Option<String>,
    /// Lanes it would like; a later build may like more than this one gives.
    pub lanes: u16,
    /// Ciphers that both builds know, the dialling end's preferred first.
    #[serde(deserialize_with = "known")]
    pub ciphers: Vec<Cipher>,
    /// The transport it insists on, if it does.
    #[serde(default)]
    pub transport: Option<Word<Transport>>,
    /// Bytes of IP packets at most, in either direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// What it is dialled for, as the programs call it, if only that will do: who serves something else says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// What it would like to do, for the program at the other end.
    #[serde(default)]
    pub request: String,
    /// What lane keys derive from where the control channel is not encrypted (loopback only), and has no secret of its own.
    #[serde(default)]
    pub plain_secret: Option<String>,
    /// Bits of IP packets per second that it takes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bps: Option<u64>,
    /// Bytes of objects of reliable flows that may come before they are accepted.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub room: u64,
    /// Lanes that there may come to be, where that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_lanes: Option<u16>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_none_at_all(bytes: &u64) -> bool {
    *bytes == 0
}

/// The listening end's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version they speak.
    pub version: u32,
    /// The cipher of datagrams.
    pub cipher: Cipher,
    /// UDP ports of its lanes.
    pub ports: Vec<u16>,
    /// Their addresses, where they are not all where the control channel is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Bytes of IP packets at most, in either direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Bits of IP packets per second that it takes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bps: Option<u64>,
    /// Lanes that there may come to be, where that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_lanes: Option<u16>,
    /// What a further stream joins the session with: known to the two ends only.
    pub session: String,
}

/// Bytes that are no message.
#[derive(Debug, Error)]
pub enum MessageError {
    /// Not JSON, or not of the form of its type.
    #[error("control message not understood: {0}")]
    Form(#[from] serde_json::Error),
    /// A field out of bounds.
    #[error("control message out of bounds: {0}")]
    Bounds(&'static str),
}

impl Message {
    /// The message as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        #[expect(clippy::expect_used, reason = "plain data without maps always serialises")]
        serde_json::to_vec(self).expect("plain data")
    }

    /// Reads a message and checks its bounds.
    ///
    /// # Errors
    /// If it is not a message, or out of bounds.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > MOST_MESSAGE {
            return Err(MessageError::Bounds("longer than 64 KiB"));
        }
        let message = serde_json::from_slice(bytes)?;
        match &message {
            Self::Flow { name, mode, .. } if !may_be_flow(name, *mode) => Err(MessageError::Bounds(FLOW_BOUNDS)),
            Self::Offer { name, length, .. } if !may_be_object(name, *length) => {
                Err(MessageError::Bounds(OBJECT_BOUNDS))
            }
            Self::Hello(hello) if hello.lanes == 0 => Err(MessageError::Bounds("a session has 1 lane at least")),
            Self::Welcome(Welcome { ports, addresses, .. }) | Self::Lanes { ports, addresses }
                if ports.len().max(addresses.len()) > usize::from(MOST_LANES) =>
            {
                Err(MessageError::Bounds("lanes"))
            }
            _ => Ok(message),
        }
    }
}

/// The newest version that both ends speak.
#[must_use]
pub fn choose_version(ours: &[u32], theirs: &[u32]) -> Option<u32> {
    ours.iter().copied().filter(|version| theirs.contains(version)).max()
}

/// A list without the words that this build does not know.
fn known<'de, T: Deserialize<'de>, D: Deserializer<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    let words = Vec::<Word<T>>::deserialize(list)?;
    Ok(words.into_iter().filter_map(|word| if let Word::Known(known) = word { Some(known) } else { None }).collect())
}

/// As much of why something is as a message has room for, however its characters are written.
#[must_use]
pub fn reason(why: &str) -> String {
    why[..why.floor_char_boundary(MOST_NAME)].to_owned()
}

/// There may be a flow of this name and mode: of [`FLOW_BOUNDS`].
#[must_use]
pub fn may_be_flow(name: &str, mode: Mode) -> bool {
    name.len() <= MOST_NAME && !matches!(mode, Mode::Deadline(limit) if limit > Duration::from_secs(86_400))
}

/// There may be an object of this name and length: of [`OBJECT_BOUNDS`].
#[must_use]
pub fn may_be_object(name: &str, length: u64) -> bool {
    name.len() <= MOST_NAME && length <= crate::wire::MOST_OFFSET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_journey() {
        let messages = [
            Message::Flow {
                flow: 3,
                name: "density".into(),
                mode: Mode::Deadline(Duration::from_millis(200)),
                weight: 2,
            },
            Message::Offer { object: 7, flow: 3, name: "step 12".into(), length: 1 << 40 },
            Message::Done { object: 7, arrived: 12, fault: Some("digest differs".into()) },
            Message::Alive,
        ];
        for message in messages {
            assert_eq!(Message::from_bytes(&message.to_bytes()).unwrap(), message);
        }
    }

    #[test]
    fn later_builds_are_understood_as_far_as_possible() {
        assert_eq!(Message::from_bytes(br#"{"type":"telepathy","strength":3}"#).unwrap(), Message::Unknown);
        assert_eq!(
            Message::from_bytes(br#"{"type":"accept","object":5,"mood":"good"}"#).unwrap(),
            Message::Accept { object: 5 }
        );
    }

    #[test]
    fn what_a_later_build_offers_is_passed_over_and_what_it_insists_on_is_kept_as_it_was_said() {
        let hello = br#"{"type":"hello","versions":[2,1],"token":null,"name":"","lanes":4096,
            "ciphers":["aegis-128l","aes128-gcm"],"transport":"pigeon"}"#;
        let Message::Hello(hello) = Message::from_bytes(hello).unwrap() else { panic!("no hello") };
        assert_eq!((hello.lanes, hello.ciphers), (4096, vec![Cipher::Aes128Gcm]));
        assert_eq!(hello.transport, Some(Word::Unknown("pigeon".to_owned())));
        assert_eq!(choose_version(&[1], &hello.versions), Some(1));
    }

    #[test]
    fn the_newest_common_version_is_spoken() {
        assert_eq!(choose_version(&[2, 1], &[1]), Some(1));
        assert_eq!(choose_version(&[3, 2, 1], &[1, 2]), Some(2));
        assert_eq!(choose_version(&[2], &[1, 3]), None);
    }

    #[test]
    fn bounds_are_held() {
        for bad in [
            r#"{"type":"offer","object":5,"flow":1,"name":"","length":1152921504606846976}"#,
            r#"{"type":"hello","versions":[1],"token":null,"name":"","lanes":0,"ciphers":[]}"#,
            r#"{"type":"accept","object":-1}"#,
            "[",
        ] {
            assert!(Message::from_bytes(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
