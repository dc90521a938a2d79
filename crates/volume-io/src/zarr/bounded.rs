//! Decoders of chunks that make no more of them than the array says that they hold: a small file may claim to be gigabytes of zeros.
//!
//! The Zarr library asks what was registered here before its own decoders, in shards, too.

use std::borrow::Cow;
use std::fmt::Debug;
use std::io::Read;
use std::marker::PhantomData;
use std::sync::{Arc, Once};

use flate2::bufread::{GzDecoder, ZlibDecoder};
use zarrs::array::codec::api::{
    CodecPartialDefault, CodecRuntimePluginV2, CodecRuntimePluginV3, PartialDecoderCapability,
    PartialEncoderCapability, register_codec_v2, register_codec_v3,
};
use zarrs::array::codec::{BloscCodec, GzipCodec, ZlibCodec, ZstdCodec};
use zarrs::array::{
    ArrayBytesRaw, BytesPartialDecoderTraits, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError,
    CodecMetadataOptions, CodecOptions, CodecTraits, CodecTraitsV2, CodecTraitsV3, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionAliases, ExtensionName, PluginCreateError, ZarrVersion, ZarrVersion2, ZarrVersion3};

use super::array::MAX_CHUNK_BYTES;

/// Bytes that one decoder may make more than the next is known to need: what is compressed twice has headers.
const HEADERS: u64 = 1 << 16;

/// A decoder of the library, with one of ours in its place.
struct Bounded<T> {
    own: Arc<dyn BytesToBytesCodecTraits>,
    kind: PhantomData<fn() -> T>,
}

/// How what one decoder of the library has compressed is decoded.
trait Decode: 'static {
    /// Whether the library's own decoder makes no more of a part of it than that part.
    const HAS_PARTS: bool = false;

    /// At most so many bytes of it.
    fn at_most(most: usize, encoded: &[u8]) -> Result<Option<Vec<u8>>, CodecError>;
}

/// Has chunks decoded so from now on.
pub(super) fn register() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        register_one::<GzipCodec>();
        register_one::<ZlibCodec>();
        register_one::<ZstdCodec>();
        register_one::<BloscCodec>();
    });
}

fn register_one<T>()
where
    T: Decode + CodecTraitsV2 + CodecTraitsV3 + ExtensionAliases<ZarrVersion2> + ExtensionAliases<ZarrVersion3>,
{
    let is_it = <T as ExtensionAliases<ZarrVersion2>>::matches_name;
    register_codec_v2(CodecRuntimePluginV2::new(is_it, |metadata| {
        <T as CodecTraitsV2>::create(metadata).and_then(bounded::<T>)
    }));
    let is_it = <T as ExtensionAliases<ZarrVersion3>>::matches_name;
    register_codec_v3(CodecRuntimePluginV3::new(is_it, |metadata| {
        <T as CodecTraitsV3>::create(metadata).and_then(bounded::<T>)
    }));
}

fn bounded<T: Decode>(codec: Codec) -> Result<Codec, PluginCreateError> {
    Ok(match codec {
        Codec::BytesToBytes(own) => Codec::BytesToBytes(Arc::new(Bounded::<T> { own, kind: PhantomData })),
        other => other,
    })
}

impl Decode for GzipCodec {
    fn at_most(most: usize, encoded: &[u8]) -> Result<Option<Vec<u8>>, CodecError> {
        read(GzDecoder::new(encoded), most)
    }
}

impl Decode for ZlibCodec {
    fn at_most(most: usize, encoded: &[u8]) -> Result<Option<Vec<u8>>, CodecError> {
        read(ZlibDecoder::new(encoded), most)
    }
}

impl Decode for ZstdCodec {
    fn at_most(most: usize, encoded: &[u8]) -> Result<Option<Vec<u8>>, CodecError> {
        match zstd::zstd_safe::get_frame_content_size(encoded) {
            Ok(Some(size)) if size <= most as u64 => Ok(Some(zstd::bulk::decompress(encoded, most)?)),
            Ok(Some(_)) => Ok(None),
            // Who wrote it as it came did not know its size.
            Ok(None) | Err(_) => read(zstd::stream::Decoder::with_buffer(encoded)?, most),
        }
    }
}

impl Decode for BloscCodec {
    const HAS_PARTS: bool = true;

    /// Bytes 4 to 7 of the header say how many it holds, and no more are decoded.
    fn at_most(most: usize, encoded: &[u8]) -> Result<Option<Vec<u8>>, CodecError> {
        let size = encoded.get(4..).and_then(|rest| rest.first_chunk()).map_or(0, |size| u32::from_le_bytes(*size));
        if size as usize > most {
            return Ok(None);
        }
        let size = zarrs::array::codec::blosc_validate(encoded).ok_or("it is not what Blosc writes")?;
        let decoded = zarrs::array::codec::blosc_decompress_bytes(encoded, size, 1);
        decoded.map(Some).map_err(|cause| CodecError::Other(cause.to_string()))
    }
}

fn read(decoder: impl Read, most: usize) -> Result<Option<Vec<u8>>, CodecError> {
    let mut decoded = Vec::new();
    decoder.take(most as u64 + 1).read_to_end(&mut decoded)?;
    Ok(Some(decoded).filter(|decoded| decoded.len() <= most))
}

impl<T> Debug for Bounded<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.own.fmt(out)
    }
}

impl<T> ExtensionName for Bounded<T> {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.own.name(version)
    }
}

impl<T: Decode> CodecTraits for Bounded<T> {
    fn as_any(&self) -> &dyn std::any::Any {
        self.own.as_any()
    }

    fn configuration(&self, version: ZarrVersion, options: &CodecMetadataOptions) -> Option<Configuration> {
        self.own.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.own.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.own.partial_encoder_capability()
    }
}

impl<T: Decode> BytesToBytesCodecTraits for Bounded<T> {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(&self, decoded: &BytesRepresentation) -> Result<RecommendedConcurrency, CodecError> {
        self.own.recommended_concurrency(decoded)
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        self.own.encoded_representation(decoded)
    }

    fn partial_decoder(
        self: Arc<Self>,
        input: Arc<dyn BytesPartialDecoderTraits>,
        decoded: &BytesRepresentation,
        options: &CodecOptions,
    ) -> Result<Arc<dyn BytesPartialDecoderTraits>, CodecError> {
        if T::HAS_PARTS {
            return Arc::clone(&self.own).partial_decoder(input, decoded, options);
        }
        Ok(Arc::new(CodecPartialDefault::new_bytes(input, *decoded, self.into_dyn())))
    }

    fn encode<'a>(&self, decoded: ArrayBytesRaw<'a>, options: &CodecOptions) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.own.encode(decoded, options)
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let most = match *decoded {
            BytesRepresentation::FixedSize(size) => size,
            BytesRepresentation::BoundedSize(size) => size.saturating_add(size / 8 + HEADERS),
            BytesRepresentation::UnboundedSize => MAX_CHUNK_BYTES,
        };
        let decoded = T::at_most(usize::try_from(most).unwrap_or(usize::MAX), &encoded)?;
        decoded.map(Cow::Owned).ok_or_else(|| format!("it holds more than the {most} bytes that it should").into())
    }
}

#[cfg(test)]
mod tests {
    use zarrs::array::codec::{BloscCompressor, BloscShuffleMode, blosc_compress_bytes};

    use super::*;

    /// What each decoder makes of `bytes` that were compressed for it, at most so many.
    fn decoded(bytes: &[u8], most: usize) -> Vec<Option<Vec<u8>>> {
        let level = flate2::Compression::new(1);
        let gzip = flate2::bufread::GzEncoder::new(bytes, level);
        let zlib = flate2::bufread::ZlibEncoder::new(bytes, level);
        let all = |mut encoder: Box<dyn Read + '_>| {
            let mut encoded = Vec::new();
            encoder.read_to_end(&mut encoded).unwrap();
            encoded
        };
        let (gzip, zlib) = (all(Box::new(gzip)), all(Box::new(zlib)));
        // Streams do not say how long they are.
        let [told, untold] = [zstd::bulk::compress(bytes, 1), zstd::stream::encode_all(bytes, 1)].map(Result::unwrap);
        let shuffle = BloscShuffleMode::NoShuffle;
        let blosc = blosc_compress_bytes(bytes, 1.try_into().unwrap(), shuffle, 4, BloscCompressor::LZ4, 0, 1).unwrap();
        let found = [
            GzipCodec::at_most(most, &gzip),
            ZlibCodec::at_most(most, &zlib),
            ZstdCodec::at_most(most, &told),
            ZstdCodec::at_most(most, &untold),
            BloscCodec::at_most(most, &blosc),
        ];
        found.map(Result::unwrap).to_vec()
    }

    #[test]
    fn no_more_is_decoded_than_there_should_be() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
        for found in decoded(&bytes, bytes.len()) {
            assert!(found.unwrap() == bytes);
        }
        assert_eq!(decoded(&bytes, bytes.len() - 1), [const { None }; 5]);
    }
}
