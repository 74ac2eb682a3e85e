import ArgumentParser
import Crypto
import Foundation
import Gateway
import IPAddresses
import SwiftASN1
import X509

/// `portico certificate`: a certificate that vouches for itself, for trying TLS out.
struct SelfSignedCertificate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate", abstract: "Writes a self-signed certificate and its key, for trying TLS out.")

    @Option(name: .customLong("host"), help: "A name or address that it is for; several are possible.")
    var hosts: [String] = ["localhost", "127.0.0.1", "::1"]

    @Option(help: "Where the certificate is written (PEM).")
    var certificate: String = "certificate.pem"

    @Option(help: "Where its key is written (PEM), readable by its owner only.")
    var key: String = "key.pem"

    @Option(help: "For how many days it is valid.")
    var days: Int = 90

    @Flag(help: "Replaces a certificate and a key that are there.")
    var force = false

    func validate() throws {
        guard (1...825).contains(days) else { throw ValidationError("A certificate is valid for 1 to 825 days.") }
    }

    func run() throws {
        for path in [key, certificate] where !force && FileManager.default.fileExists(atPath: path) {
            throw HostCommandError("\(path): there is a file already; --force replaces it.")
        }
        let secret = P256.Signing.PrivateKey()
        try write(secret.pemRepresentation, to: key, permissions: 0o600)
        try write(makeCertificate(secret).serializeAsPEM().pemString, to: certificate, permissions: 0o644)
        print(
            """
            The certificate is \(certificate), its key \(key): http.tls.certificate and http.tls.key, relative to the data directory.
            Callers trust it by name: curl --cacert \(certificate)
            """)
    }

    private func makeCertificate(_ secret: P256.Signing.PrivateKey) throws -> Certificate {
        let signer = Certificate.PrivateKey(secret)
        let name = try DistinguishedName { CommonName(hosts.first ?? "localhost") }
        let now = Date()
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: signer.publicKey,
            // Clocks of the devices that try it may be behind.
            notValidBefore: now.addingTimeInterval(-3_600),
            notValidAfter: now.addingTimeInterval(Double(days) * 86_400),
            issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                try ExtendedKeyUsage([.serverAuth, .clientAuth])
                SubjectAlternativeNames(hosts.map(Self.name))
            }, issuerPrivateKey: signer)
    }

    private static func name(_ host: String) -> GeneralName {
        guard let bytes = IPAddress(host)?.bytes else { return .dnsName(host) }
        return .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
    }

    /// Made anew, so that a file that was there lends it neither its permissions nor its readers.
    private func write(_ text: String, to path: String, permissions: mode_t) throws {
        if force { unlink(path) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        guard descriptor >= 0 else {
            throw HostCommandError("\(path): cannot be written: \(FileFailure.systemReason).")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        } catch {
            throw HostCommandError(FileFailure.sentence(error) ?? "\(path): cannot be written.")
        }
    }
}
