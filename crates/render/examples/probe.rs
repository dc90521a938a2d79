use std::time::Instant;
use visapult_render::*;
use visapult_volume::Grid;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (n, threads, reps): (usize, usize, usize) =
        (a[2].parse().unwrap(), a[4].parse().unwrap(), a[5].parse().unwrap());
    let bytes = std::fs::read(&a[1]).unwrap();
    let hl = u16::from_le_bytes([bytes[8], bytes[9]]) as usize + 10;
    let values: Vec<f32> = bytes[hl..].chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    drop(bytes);
    let tf = TransferFunction::from_json(&std::fs::read_to_string(&a[3]).unwrap()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let t = Instant::now();
        let vol = Volume::whole(Grid::of_size([n; 3]), values).unwrap();
        eprintln!("macrocells {:.3}", t.elapsed().as_secs_f64());
        let cam = Camera::default();
        let mut best = 1e9f64;
        let mut samples = 0;
        for _ in 0..reps {
            let t = Instant::now();
            let caster = Caster::new(&vol, &tf, 1.0);
            let prep = t.elapsed().as_secs_f64();
            let r = caster.render(&cam, 1024, 1024);
            let s = t.elapsed().as_secs_f64();
            eprintln!("prep {prep:.4} total {s:.4}");
            best = best.min(s);
            samples = r.samples;
        }
        let r = Caster::new(&vol, &tf, 1.0).render(&cam, 1024, 1024);
        println!(
            "{} best {:.4} s  {} Msamples  {:.1} Ms/s",
            a[1],
            best,
            samples / 1_000_000,
            samples as f64 / best / 1e6
        );
        if a.len() > 6 {
            let q = reference::render_reference(&vol, &cam, &tf, 1024, 1024, 1.0);
            let se: f64 = r
                .image
                .rgba
                .iter()
                .zip(&q.image.rgba)
                .flat_map(|(a, b)| (0..3).map(move |c| ((a[c] - b[c]) as f64).powi(2)))
                .sum();
            let mx = r
                .image
                .rgba
                .iter()
                .zip(&q.image.rgba)
                .flat_map(|(a, b)| (0..3).map(move |c| ((a[c] - b[c]) as f64).abs()))
                .fold(0.0, f64::max);
            println!(
                "PSNR {:.2} dB max {mx:.4} reference samples {}M",
                -10.0 * (se / (3.0 * 1024.0 * 1024.0)).log10(),
                q.samples / 1_000_000
            );
            std::fs::write(&a[6], r.image.to_png_over([0.0; 3]).unwrap()).unwrap();
        }
    });
}
