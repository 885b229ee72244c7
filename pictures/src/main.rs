//! `viaduct-pictures`: draws the pictures of the documentation into `docs/pictures`.

use anyhow::{Context, Result};
use viaduct_pictures::{folder, PICTURES};

fn main() -> Result<()> {
    let folder = folder();
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for picture in PICTURES {
        let file = folder.join(picture.file);
        let svg = (picture.make)().with_context(|| picture.file)?;
        std::fs::write(&file, svg).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
