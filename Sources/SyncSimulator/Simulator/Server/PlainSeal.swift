import RecordStorage
import SyncEngine

/// Finds accidents, not forgeries: there are no forgers in a run.
struct PlainSeal: CheckpointSeal {
    func code(for bytes: [UInt8]) -> [UInt8] {
        var code: [UInt8] = []
        for salt in UInt64(1)...2 {
            var hash = salt &* 0xCBF2_9CE4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            code += (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
        }
        return code
    }

    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool { self.code(for: bytes) == code }
}
