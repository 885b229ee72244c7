//! What asks viad, made of the rows of [`control_calls!`](crate::kernel_agent::control::control_calls).

/// The method of a row: it asks viad, and has the answer.
macro_rules! ask {
    (
        $(#[$doc:meta])* fn $method:ident($($argument:ident: $type:ty),*) -> $result:ty
            as $request:ident $(($($value:ident),+))? => $answer:ident
    ) => {
        fn $method(&self, $($argument: $type),*) -> $result {
            $crate::viad::ask::answer!($answer, self, Request::$request $(($($value),+))?)
        }
    };
}

/// What viad answers to a request, if it is this answer.
macro_rules! answer {
    (Done, $client:expr, $request:expr) => {
        $client.done(&$request)
    };
    (Connection, $client:expr, $request:expr) => {
        $client.connection(&$request)
    };
    ($answer:ident, $client:expr, $request:expr) => {
        match $client.call(&$request)?.0 {
            Answer::$answer(answer) => Ok(answer),
            other => Err($client.wrong(&other)),
        }
    };
}

pub(super) use {answer, ask};
