//! A terminal that shows lines: its other screen, without echo, until this is dropped.

use std::{
    io::{self, Stdout, Write},
    time::{Duration, Instant},
};

use crossterm::{
    cursor::{Hide, MoveTo, Show},
    event::{poll, read, Event, KeyCode, KeyEventKind, KeyModifiers},
    execute, queue,
    style::Print,
    terminal::{
        disable_raw_mode, enable_raw_mode, size, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen,
    },
};

/// The longest wait for a key: signals are looked for in between.
const LOOK: Duration = Duration::from_millis(100);

/// What somebody who looks on wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To see it as it is now.
    Draw,
    /// To see what is so many lines further down.
    Scroll(isize),
    /// No more.
    End,
}

/// The terminal.
pub struct Screen {
    out: Stdout,
    /// Lines above the first that is shown.
    above: usize,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal's.
    pub fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        // What is taken is given back from here on.
        let mut screen = Self { out: io::stdout(), above: 0 };
        execute!(screen.out, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Shows as many of the lines as there is room for.
    ///
    /// # Errors
    /// The terminal's.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let (columns, rows) = size()?;
        self.above = self.above.min(lines.len().saturating_sub(rows.into()));
        for (line, row) in lines.iter().skip(self.above).zip(0..rows) {
            let cut: String = line.chars().take(columns.into()).collect();
            // First, because behind a line as wide as the screen it would take its last character.
            queue!(self.out, MoveTo(0, row), Clear(ClearType::CurrentLine), Print(cut))?;
        }
        let shown = (lines.len() - self.above).min(rows.into());
        if shown < usize::from(rows) {
            queue!(self.out, MoveTo(0, shown as u16), Clear(ClearType::FromCursorDown))?;
        }
        self.out.flush()
    }

    /// Moves what is shown: down, or up if it is negative.
    pub fn scroll(&mut self, lines: isize) {
        self.above = self.above.saturating_add_signed(lines);
    }

    /// Waits until somebody wants something, for so long at most. `check` is asked now and then, and its error ends the wait.
    ///
    /// # Errors
    /// The terminal's, and those of `check`.
    pub fn wait(
        &self,
        limit: Duration,
        check: impl Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Wish>> {
        let end = Instant::now() + limit;
        loop {
            check()?;
            let left = end.saturating_duration_since(Instant::now());
            if poll(left.min(LOOK))? {
                if let Some(wish) = wish(&read()?) {
                    return Ok(Some(wish));
                }
            } else if left.is_zero() {
                return Ok(None);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to be told of an error.
        let _ = execute!(self.out, Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Lines that a page's key moves.
const PAGE: isize = 20;

/// What an event of the terminal's asks for.
fn wish(event: &Event) -> Option<Wish> {
    let key = match event {
        Event::Resize(..) => return Some(Wish::Draw),
        Event::Key(key) if key.kind == KeyEventKind::Press => key,
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if control => Some(Wish::End),
        KeyCode::Char('q') | KeyCode::Esc => Some(Wish::End),
        KeyCode::Down | KeyCode::Char('j') => Some(Wish::Scroll(1)),
        KeyCode::Up | KeyCode::Char('k') => Some(Wish::Scroll(-1)),
        KeyCode::PageDown | KeyCode::Char(' ') => Some(Wish::Scroll(PAGE)),
        KeyCode::PageUp => Some(Wish::Scroll(-PAGE)),
        KeyCode::Home => Some(Wish::Scroll(isize::MIN)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn keys_are_wishes() {
        let key = |code, modifiers| wish(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = |code| key(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Char('q')), Some(Wish::End));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Wish::End));
        assert_eq!(plain(KeyCode::Char('c')), None);
        assert_eq!(plain(KeyCode::Down), Some(Wish::Scroll(1)));
        assert_eq!(wish(&Event::Resize(80, 25)), Some(Wish::Draw));
        assert_eq!(wish(&Event::FocusLost), None);
    }
}
