//! A session answers requests, each by its row in the table of control calls: what it names it may name, what it costs is charged, and a
//! method of [`Table`]'s does it. There is no other way to one.

use std::os::fd::OwnedFd;

use viaduct_driver::{
    kernel_agent::{connection_agent::ConnectorError, control::control_calls, AgentError, ErrorClass},
    viad::protocol::{Answer, Request},
};

use super::{own::Object, Table};
use crate::accounts::Quota;

/// An answer, and the descriptors that go with it.
pub type Answered = Result<(Answer, Vec<OwnedFd>), AgentError>;

/// An error of a method, as it is answered.
trait Unanswered {
    fn answered(self) -> Answered;
}

impl Unanswered for AgentError {
    fn answered(self) -> Answered {
        Err(self)
    }
}

impl Unanswered for ConnectorError {
    fn answered(self) -> Answered {
        match self {
            Self::Manager(error) => Ok((Answer::Unconnected(error), Vec::new())),
            Self::Agent(error) => Err(error),
        }
    }
}

/// What a method comes to, as an answer of this kind. One that has descriptors to go with it gives the whole answer.
macro_rules! answered {
    ($answer:ident and files, $result:expr) => {
        $result
    };
    ($answer:ident, $result:expr) => {
        match $result {
            Ok(result) => Ok((answered!($answer of result), Vec::new())),
            Err(error) => error.answered(),
        }
    };
    (Done of $result:ident) => {{
        let () = $result;
        Answer::Done
    }};
    ($answer:ident of $result:ident) => {
        Answer::$answer($result)
    };
}

macro_rules! answers {
    (() $(
        $(#[$doc:meta])*
        $trait:ident fn $method:ident $(($($argument:ident: $type:ty),+))? $(-> $result:ty)?
            as $request:ident => $answer:ident $(and $files:ident)? $(, with $sent:ident)?
            $(, of [$($object:ident $(($value:expr))?),+])? $(, costs [$($quota:ident),+])?;
    )*) => {
        impl Table {
            /// Answers a request, which may have come with a descriptor. Who has no use for that closes it.
            pub fn answer(&mut self, request: Request, sent: Option<OwnedFd>) -> Answered {
                self.sent = sent;
                let answered = self.answer_with_sent(request);
                self.sent = None;
                answered
            }

            fn answer_with_sent(&mut self, request: Request) -> Answered {
                match request {
                    Request::Hello { .. } => Err(AgentError::Remote {
                        class: ErrorClass::State,
                        text: "it has said Hello before: once in a session".into(),
                    }),
                    $(Request::$request $(($($argument),+))? => {
                        $($(self.check_own(Object::$object $(($value))?)?;)+)?
                        answered!($answer $(and $files)?, self.$method(
                            $($($argument,)+)?
                            $([$(self.share(Quota::$quota, 1)?),+],)?
                        ))
                    })*
                }
            }
        }
    };
}

control_calls!(answers);
