use super::header::{Kind, Layout, seal_v4};
use super::vnet::{GSO_TCP4, GSO_UDP, Vnet};
use super::*;

const MSS: usize = 100;

/// A packet as the kernel hands it over: vnet header, IPv4, TCP or UDP, payload of counted bytes.
fn packet(tcp: bool, sequence: u32, payload: usize, gso_size: usize) -> Vec<u8> {
    let transport = if tcp { 32 } else { 8 };
    let vnet = Vnet {
        needs_checksum: true,
        gso: if gso_size == 0 {
            0
        } else if tcp {
            GSO_TCP4
        } else {
            GSO_UDP
        },
        header: (20 + transport) as u16,
        gso_size: gso_size as u16,
        checksum_start: 20,
        checksum_offset: if tcp { 16 } else { 6 },
    };
    let total = (20 + transport + payload) as u16;
    let mut ip = vec![0x45, 2, 0, 0, 0, 9, 0x40, 0, 64, if tcp { 6 } else { 17 }, 0, 0, 10, 7, 0, 1, 10, 7, 0, 2];
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    seal_v4(&mut ip);
    let mut header = vec![0; transport];
    header[..4].copy_from_slice(&[0x9c, 0x40, 0x14, 0x51]);
    if tcp {
        header[4..8].copy_from_slice(&sequence.to_be_bytes());
        header[12] = 0x80;
        header[13] = 0x18;
    } else {
        header[4..6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
    }
    let bytes = (0..payload).map(|i| (sequence as usize + i) as u8);
    vnet.write().into_iter().chain(ip).chain(header).chain(bytes).collect()
}

fn keep(arena: &mut Arena, read: &[u8]) -> Vec<Segment> {
    arena.room().unwrap()[..read.len()].copy_from_slice(read);
    let at = arena.keep(read.len());
    split(read, at).unwrap().0.map(|(segment, _)| segment).inspect(|segment| arena.retain(segment.chunk())).collect()
}

/// Gathers packets in runs, and gives what would be written.
fn write(arena: &Arena, packets: &[Segment]) -> Vec<Vec<u8>> {
    let (mut run, mut written) = (Run::default(), Vec::new());
    let mut flush = |run: &mut Run| {
        written.extend(run.write(arena, |slices| slices.iter().flat_map(|slice| slice.to_vec()).collect()));
        run.clear();
    };
    for packet in packets {
        if !run.take(arena, *packet, false) {
            flush(&mut run);
            assert!(run.take(arena, *packet, false));
        }
    }
    flush(&mut run);
    written
}

#[test]
fn a_super_packet_is_as_many_packets_as_the_wire_would_carry() {
    let read = packet(true, 1, 950, MSS);
    let (packets, split_well) = split(&read, (0, 0)).unwrap();
    let lengths: Vec<u32> = packets.map(|(_, facts)| facts.length).collect();
    assert!(split_well);
    assert_eq!(lengths, [[152; 9].as_slice(), &[102]].concat());
}

#[test]
fn all_packets_of_a_super_packet_make_the_same_one_again() {
    let mut arena = Arena::new(0, 1 << 22);
    for tcp in [true, false] {
        let read = packet(tcp, 1, 950, MSS);
        let packets = keep(&mut arena, &read);
        let written = write(&arena, &packets);
        assert_eq!(written.len(), 1);
        // All but the transport checksum, which the emulator starts anew.
        let checksum = VNET_HEADER + 20 + if tcp { 16 } else { 6 };
        assert_eq!(written[0][..checksum], read[..checksum]);
        assert_eq!(written[0][checksum + 2..], read[checksum + 2..]);
    }
}

#[test]
fn a_lost_packet_splits_the_super_packet_around_it() {
    let mut arena = Arena::new(0, 1 << 22);
    let mut packets = keep(&mut arena, &packet(true, 1000, 1000, MSS));
    packets.remove(4);
    let written = write(&arena, &packets);
    assert_eq!(written.len(), 2);
    let (before, after) = (&written[0][VNET_HEADER..], &written[1][VNET_HEADER..]);
    assert_eq!((before.len(), after.len()), (52 + 400, 52 + 500));
    assert_eq!(after[24..28], 1500_u32.to_be_bytes());
    assert_eq!(after[52], (1500 % 256) as u8);
    // PSH belongs to the last packet only.
    assert_eq!((before[33], after[33]), (0x10, 0x18));
    // IP identification counts on.
    assert_eq!((before[5], after[5]), (9, 14));
}

#[test]
fn a_single_packet_has_valid_lengths_and_header_checksum() {
    let mut arena = Arena::new(0, 1 << 22);
    let packets = keep(&mut arena, &packet(false, 0, 1000, MSS));
    let written = write(&arena, &packets[3..4]);
    let bytes = &written[0][VNET_HEADER..];
    assert_eq!(Vnet::read(&written[0]).unwrap().gso, 0);
    assert_eq!(bytes.len(), 128);
    assert_eq!((bytes[3], bytes[25]), (128, 108));
    let mut ip = bytes[..20].to_vec();
    seal_v4(&mut ip);
    assert_eq!(ip, bytes[..20]);
}

#[test]
fn datagrams_that_came_one_by_one_share_a_write_up_to_a_shorter_one() {
    let mut arena = Arena::new(0, 1 << 22);
    let packets: Vec<Segment> =
        [MSS, MSS, 60, MSS].iter().flat_map(|length| keep(&mut arena, &packet(false, 0, *length, 0))).collect();
    let written = write(&arena, &packets);
    let lengths: Vec<usize> = written.iter().map(|bytes| bytes.len() - VNET_HEADER - 28).collect();
    assert_eq!(lengths, [260, 100]);
    assert_eq!(Vnet::read(&written[0]).unwrap().gso_size, MSS as u16);
}

#[test]
fn segments_with_a_gap_or_a_push_between_them_stay_apart() {
    let mut arena = Arena::new(0, 1 << 22);
    let with_push: Vec<Segment> = [0, 100].iter().flat_map(|at| keep(&mut arena, &packet(true, *at, MSS, 0))).collect();
    assert_eq!(write(&arena, &with_push).len(), 2);
    let mut plain = |sequence| {
        let mut read = packet(true, sequence, MSS, 0);
        read[VNET_HEADER + 33] = 0x10;
        keep(&mut arena, &read)[0]
    };
    let (a, b, c) = (plain(0), plain(100), plain(300));
    assert_eq!(write(&arena, &[a, b, c]).len(), 2);
}

#[test]
fn marks_go_to_the_packets_that_have_them() {
    let mut arena = Arena::new(0, 1 << 22);
    let packets = keep(&mut arena, &packet(true, 0, 300, MSS));
    let mut run = Run::default();
    assert!(run.take(&arena, packets[0], true));
    assert!(!run.take(&arena, packets[1], false));
    let bytes = run.write(&arena, |slices| slices[0].to_vec()).unwrap();
    assert_eq!(bytes[VNET_HEADER + 1] & 3, 3);
}

#[test]
fn what_is_not_understood_is_carried_whole() {
    for read in [[0; VNET_HEADER].as_slice(), &[0; 3], &[]] {
        assert!(split(read, (0, 0)).is_none());
    }
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..100_000 {
        let mut read = packet(random.bool(), 0, random.usize(0..300), random.usize(0..200));
        read.truncate(random.usize(0..=read.len()));
        for _ in 0..random.usize(0..4) {
            let length = read.len();
            if let Some(byte) = read.get_mut(random.usize(0..length.max(1))) {
                *byte = random.u8(..);
            }
        }
        let Some((packets, _)) = split(&read, (0, 0)) else { continue };
        let bytes: u32 = packets.map(|(packet, _)| u32::from(packet.length)).sum();
        let headers = Layout::of(&read[VNET_HEADER..]).all;
        assert_eq!(bytes as usize + usize::from(headers) + VNET_HEADER, read.len());
    }
}

#[test]
fn fragments_are_not_taken_for_datagrams() {
    let mut read = packet(false, 0, 50, 0);
    read[VNET_HEADER + 7] = 1;
    assert_eq!(Layout::of(&read[VNET_HEADER..]).kind, Kind::Whole);
}

#[test]
fn a_rebinding_changes_lefts_port_and_loses_what_goes_to_the_old_one() {
    let mut translation = Translation::default();
    let original = packet(false, 0, 50, 0);
    let port = |read: &[u8], at: usize| u16::from_be_bytes([read[VNET_HEADER + at], read[VNET_HEADER + at + 1]]);
    let mut read = original.clone();
    assert!(translation.passes(&mut read, true));
    assert_eq!(read, original);
    translation.rebind(1);
    assert!(translation.passes(&mut read, true));
    let new = port(&read, 20);
    assert_ne!(new, port(&original, 20));
    let mut answer = original.clone();
    answer[VNET_HEADER + 22..VNET_HEADER + 24].copy_from_slice(&new.to_be_bytes());
    assert!(translation.passes(&mut answer, false));
    assert_eq!(port(&answer, 22), port(&original, 20));
    let mut stale = original.clone();
    stale[VNET_HEADER + 22..VNET_HEADER + 24].copy_from_slice(&original[VNET_HEADER + 20..VNET_HEADER + 22]);
    assert!(!translation.passes(&mut stale, false));
}
