//! A target for video files.

use headrace_video::{Video, VideoData};

/// `[file...]`: reads the tables of a file, and the bytes of its first and its last sample. Stores
/// the tables and reads them again. Reads the bytes as stored tables, too.
pub fn video(data: &[u8]) -> usize {
    let input = VideoData::Memory(data.to_vec().into());
    if let Ok(video) = Video::read(&input) {
        let starts = video.starts();
        assert!(starts.iter().zip(0..).all(|(start, number)| *start <= number));
        assert!(video.frames.iter().all(|frame| (frame.sample as usize) < video.samples.len()));
        let stored = video.to_tables(1).ok().flatten().map(|stored| Video::of_tables(&stored, 1));
        assert!(stored.is_none_or(|stored| stored.ok().flatten().as_ref() == Some(&video)));
        let last = video.samples.len() - 1;
        let _ = video.read_samples(&input, 0..1);
        let _ = video.read_samples(&input, last..last + 1);
    }
    let fingerprint = data.first_chunk().map_or(0, |start| u32::from_le_bytes(*start));
    if let Ok(Some(video)) = Video::of_tables(data, fingerprint) {
        assert!(video.frames.iter().all(|frame| (frame.sample as usize) < video.samples.len()));
    }
    data.len()
}
