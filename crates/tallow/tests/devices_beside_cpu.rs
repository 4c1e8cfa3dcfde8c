//! A GPU's results beside the processor's, if the machine has a GPU: sizes that the cases of
//! operations do not reach, and random numbers. `TALLOW_TEST_DEVICE` is as in `devices.rs`, which
//! says so where there is no device.

mod device;

use device::device;
use std::sync::Mutex;
use tallow::{DType, Device, Result, Tensor};

/// What takes several launches, or another path, only from some size on: the processor's result is
/// the reference.
#[test]
fn large_operands_give_the_processors_results() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    type Run = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let runs: [(&str, Run); 12] = [
        ("sum_all", |x, _| x.sum_all()),
        ("sum of rows", |x, _| x.sum(1)),
        ("sum of columns", |x, _| x.sum(0)),
        ("max_all", |x, _| x.max_all()),
        ("min of columns", |x, _| x.min(0)),
        ("argmax of rows", |x, _| x.argmax(1)),
        ("argmin of columns", |x, _| x.argmin(0)),
        ("cumsum of rows", |x, _| x.cumsum(1)),
        ("cumsum of columns", |x, _| x.cumsum(0)),
        ("arg_sort", |x, _| x.arg_sort_last_dim(false)),
        ("scatter_add", |x, ids| x.scatter_add(ids, x, 1)),
        ("scatter_add of columns", |x, ids| {
            let (x, ids) = (x.t()?.contiguous()?, ids.t()?.contiguous()?);
            x.scatter_add(&ids, &x, 0)
        }),
    ];
    let cpu = &Device::Cpu;
    for (rows, columns) in [(1, 300_000), (3, 5000), (9000, 40), (40, 9000)] {
        let count = rows * columns;
        // Whole numbers: their sums are exact in any order.
        let numbers = (0..count as i64).map(|at| at * 7919 % 1009);
        let wrapped = Tensor::from_iter(numbers, cpu)?;
        let x = wrapped.to_dtype(DType::F32)?.affine(1.0, -504.0)?;
        let x = x.reshape((rows, columns))?;
        let ids = wrapped.clamp(0i64, columns as i64 - 1)?;
        let ids = ids.reshape((rows, columns))?;
        let (there, ids_there) = (x.to_device(&device)?, ids.to_device(&device)?);
        for (name, run) in runs {
            // One that owns an element looks through all indexes of its row.
            if name.starts_with("scatter") && columns > 10_000 {
                continue;
            }
            let want = run(&x, &ids)?.to_dtype(DType::F64)?.flatten_all()?;
            let got = run(&there, &ids_there)?.to_device(cpu)?;
            let got = got.to_dtype(DType::F64)?.flatten_all()?;
            let (want, got) = (want.to_vec1::<f64>()?, got.to_vec1::<f64>()?);
            let wrong = want.iter().zip(&got).position(|(a, b)| a != b);
            assert!(
                wrong.is_none() && want.len() == got.len(),
                "{name} of [{rows}, {columns}]: {wrong:?}"
            );
        }
    }
    Ok(())
}

/// The processor's stream is one a process.
static STREAM: Mutex<()> = Mutex::new(());

#[test]
fn a_device_draws_the_processors_numbers() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    let _turn = STREAM
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let draw = |device: &Device, dtype, normal: bool| -> Result<Vec<f64>> {
        device.set_seed(42)?;
        let drawn = match normal {
            true => Tensor::randn_f64(1.0, 2.0, 1003, dtype, device)?,
            false => Tensor::rand_f64(-1.0, 2.0, 1003, dtype, device)?,
        };
        drawn
            .to_device(&Device::Cpu)?
            .to_dtype(DType::F64)?
            .to_vec1()
    };
    for dtype in DType::FLOATS {
        if dtype == DType::F64 && device.gpu().is_some_and(|gpu| !gpu.info().has_f64) {
            continue;
        }
        let (want, got) = (
            draw(&Device::Cpu, dtype, false)?,
            draw(&device, dtype, false)?,
        );
        match dtype {
            // A device may fuse the product with the sum.
            DType::F64 => assert!(want.iter().zip(&got).all(|(a, b)| (a - b).abs() < 1e-15)),
            _ => assert_eq!(want, got, "{dtype}"),
        }
        let (want, got) = (
            draw(&Device::Cpu, dtype, true)?,
            draw(&device, dtype, true)?,
        );
        let allowed = match dtype {
            DType::F64 => 1e-13,
            DType::F32 => 1e-5,
            DType::F16 => 1e-2,
            DType::BF16 => 0.1,
            _ => 1.0,
        };
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= allowed;
        assert!(want.iter().zip(&got).all(close), "{dtype}");
        assert!(want.iter().any(|value| *value != want[0]));
    }
    Ok(())
}

/// A recorded draw goes on where the last run of it stopped, and so do draws that are not recorded.
#[test]
fn a_recorded_draw_gives_other_numbers_each_time() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    let _turn = STREAM
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let draw = |device: &Device| Tensor::rand(0f32, 1., 100, device);
    let cpu = &Device::Cpu;
    device.set_seed(7)?;
    assert_eq!(device.get_current_seed()?, 7);
    let gpu = device.gpu().expect("the device of these tests is a GPU");
    let (drawn, recording) = gpu.record_commands(|| draw(&device))?;
    cpu.set_seed(7)?;
    for _ in 0..3 {
        recording.replay()?;
        assert_eq!(drawn.to_vec1::<f32>()?, draw(cpu)?.to_vec1::<f32>()?);
    }
    assert_eq!(
        draw(&device)?.to_vec1::<f32>()?,
        draw(cpu)?.to_vec1::<f32>()?
    );
    Ok(())
}
