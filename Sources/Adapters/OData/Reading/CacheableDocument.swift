import AdapterKit
import ODataRecords

/// A document that changes with the model alone: clients keep it and ask whether it is still so (RFC 9110, section
/// 13.1.2).
struct CacheableDocument: Sendable {
    private static let caching = "private, no-cache"

    let answers: Answers
    let asked: MountHeaders

    func kept(_ whole: MountResponse) -> MountResponse {
        guard case .bytes(let bytes) = whole.body else { return whole }
        let tag = EntityTag.text(Revision(Self.number(bytes)))
        if let field = asked["If-None-Match"], EntityReading.matches(field, tag) {
            return answers.nothing(304, headers: ["ETag": tag, "Cache-Control": Self.caching])
        }
        var answer = whole
        answer.headers["ETag"] = tag
        answer.headers["Cache-Control"] = Self.caching
        return answer
    }

    /// FNV-1a, without its lowest bit.
    private static func number(_ bytes: [UInt8]) -> Int64 {
        Int64(bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 1)
    }
}
