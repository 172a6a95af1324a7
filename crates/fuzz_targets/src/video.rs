//! A target for video files.

use headrace_video::{Video, VideoData};

/// `[file...]`: reads the tables of a file, and the bytes of its first and its last sample.
pub fn video(data: &[u8]) -> usize {
    let input = VideoData::Memory(data.to_vec().into());
    if let Ok(video) = Video::read(&input) {
        let starts = video.starts();
        assert!(starts.iter().zip(0..).all(|(start, number)| *start <= number));
        assert!(video.frames.iter().all(|frame| (frame.sample as usize) < video.samples.len()));
        let last = video.samples.len() - 1;
        let _ = video.read_samples(&input, 0..1);
        let _ = video.read_samples(&input, last..last + 1);
    }
    data.len()
}
