import AdapterKit
import Crypto
import DurableFiles
import Foundation

/// Signs requests to S3 and what speaks its protocol: AWS Signature Version 4, with the digest of the body.
/// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
struct S3Signature: Sendable {
    let accessKey: Secret
    let secretKey: Secret
    let region: String

    /// The fields of the request, the signature among them.
    ///
    /// `path`: as it is sent, each byte that is none of `A-Z a-z 0-9 - . _ ~ /` escaped. `query`: names and values as they are,
    /// not escaped.
    func fields(
        _ method: String, host: String, path: String, query: [(name: String, value: String)], body: [UInt8],
        at time: WireDate
    ) -> [(name: String, value: String)] {
        let stamp = Self.stamp(time)
        let digest = body.withUnsafeBytes { bytes in
            var hash = SHA256Text()
            hash.update(bytes)
            return hash.finish()
        }
        let signed = "host;x-amz-content-sha256;x-amz-date"
        let canonical = [
            method, path, Self.canonical(query), "host:\(host)", "x-amz-content-sha256:\(digest)",
            "x-amz-date:\(stamp)", "",
            signed, digest,
        ].joined(separator: "\n")
        let scope = "\(stamp.prefix(8))/\(region)/s3/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(Self.digest(canonical))"
        var key = SymmetricKey(data: Data("AWS4\(secretKey.reveal())".utf8))
        for part in [String(stamp.prefix(8)), region, "s3", "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        let signature = Hexadecimal.text(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
        return [
            ("x-amz-date", stamp), ("x-amz-content-sha256", digest),
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(accessKey.reveal())/\(scope),SignedHeaders=\(signed),Signature=\(signature)"
            ),
        ]
    }

    /// In the order of names and values, escaped.
    static func canonical(_ query: [(name: String, value: String)]) -> String {
        var pairs: [(name: String, value: String)] = query.map { (name: escape($0.name), value: escape($0.value)) }
        pairs.sort { left, right in left.name == right.name ? left.value < right.value : left.name < right.name }
        let texts: [String] = pairs.map { pair in pair.name + "=" + pair.value }
        return texts.joined(separator: "&")
    }

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e:
                escaped.unicodeScalars.append(.init(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }

    private static func digest(_ text: String) -> String { Hexadecimal.text(SHA256.hash(data: Data(text.utf8))) }

    /// `20261126T232447Z`.
    private static func stamp(_ time: WireDate) -> String {
        (time.cut(toFractionDigits: 0).rfc3339 ?? "").filter { !"-:".contains($0) }
    }
}
