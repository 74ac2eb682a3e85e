import Crypto
import Foundation
import SwiftASN1
import X509

/// The name in a certificate, as the audit log keeps it.
enum CertificateSubject {
    /// Unicode scalars: with what stands before it no more than an actor may have.
    private static let longest = 50
    private static let digestBytes = 4

    /// The subject of a certificate (DER) as RFC 4514 writes it, control characters replaced. One that is too long, or
    /// none, has a part of the certificate's digest, so that two of them differ.
    static func name(_ certificate: [UInt8]) -> String {
        let subject = (try? Certificate(derEncoded: certificate))?.subject.description ?? ""
        let scalars = subject.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }
        guard scalars.isEmpty || scalars.count > longest else { return String(String.UnicodeScalarView(scalars)) }
        let digest = SHA256.hash(data: certificate).prefix(digestBytes).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        return String(String.UnicodeScalarView(scalars.prefix(longest - digest.count - 1))) + "~" + digest
    }
}
