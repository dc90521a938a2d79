//! The proxy that is chosen under a budget, held against every one that could have been.

use visapult_pipeline::{BackEndConfig, Camera, Device, Image, RenderConfig, RenderProxy, Rendered, render};
use visapult_render::{CodeBits, Quality};

const KEY_DEG: [f64; 2] = [30.0, 20.0];

fn rendered(step: u64, turned_deg: f64, proxy: RenderProxy, sample_step: f64) -> Rendered {
    let source = "demo:wave?n=36".to_owned();
    render(&RenderConfig {
        back_end: BackEndConfig { source, pes: 2, threads: 2, device: Device::Cpu, crew: None },
        field: None,
        step: Some(step),
        size: [128, 128],
        camera: Camera { azimuth_deg: KEY_DEG[0] + turned_deg, ..Camera::default() },
        transfer_function: None,
        sample_step,
        proxy,
        memory: None,
    })
    .expect("the wave can be rendered")
}

fn fixed() -> Vec<RenderProxy> {
    let mut proxies: Vec<RenderProxy> =
        (0..2).map(|level| RenderProxy::Bricks { level, bits: CodeBits::EIGHT }).collect();
    proxies.extend([32, 64].map(|slabs| RenderProxy::Slabs { key_deg: KEY_DEG, slabs }));
    proxies.push(RenderProxy::ScalarSlabs { key_deg: KEY_DEG, slabs: None });
    proxies.extend([16, 64].map(|segments| RenderProxy::Segments { key_deg: KEY_DEG, segments }));
    proxies
}

fn closeness_db(image: &Image, truth: &Image) -> f64 {
    Quality::of(image, truth).expect("images of one size").foreground_psnr_db
}

#[test]
fn no_fixed_choice_is_as_close_at_a_tenth_fewer_bytes() {
    for (step, turned_deg) in [(6, 20.0), (12, 45.0)] {
        let truth = rendered(step, turned_deg, RenderProxy::Exact, 0.5).image;
        let others: Vec<(u64, f64)> = fixed()
            .into_iter()
            .map(|proxy| rendered(step, turned_deg, proxy, 1.0))
            .map(|other| (other.statistics.wire_bytes, closeness_db(&other.image, &truth)))
            .collect();
        for (budget, words) in [(30_000, "within 30 kB,"), (1_000_000, "within 1.0 MB,")] {
            let auto = rendered(step, turned_deg, RenderProxy::Auto { key_deg: KEY_DEG, budget }, 1.0);
            let (bytes, closeness) = (auto.statistics.wire_bytes, closeness_db(&auto.image, &truth));
            let choice = auto.statistics.choice.unwrap();
            assert!(bytes <= budget && choice.reason.contains(words), "{}", choice.reason);
            for &(other, other_db) in others.iter().filter(|(other, _)| *other <= budget) {
                let told =
                    format!("{}; another: {other} bytes, {other_db:.1} dB; this: {closeness:.1} dB", choice.reason);
                assert!(closeness >= other_db - 1.0, "{told}");
                assert!(other_db < closeness || other as f64 >= 0.9 * bytes as f64, "{told}");
            }
        }
    }
}

#[test]
fn a_budget_that_nothing_fits_is_refused_with_what_would() {
    let config = RenderConfig {
        back_end: BackEndConfig {
            source: "demo:wave?n=24".to_owned(),
            pes: 1,
            threads: 1,
            device: Device::Cpu,
            crew: None,
        },
        field: None,
        step: Some(5),
        size: [32, 32],
        camera: Camera::default(),
        transfer_function: None,
        sample_step: 1.0,
        proxy: RenderProxy::Auto { key_deg: KEY_DEG, budget: 10 },
        memory: None,
    };
    let refusal = render(&config).unwrap_err().to_string();
    assert!(refusal.contains("budget of 10 bytes") && refusal.contains("smallest"), "{refusal}");
}
