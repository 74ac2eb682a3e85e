import AdapterKit
import Crypto

/// A key that signs access tokens with ES256 (RFC 7518, section 3.4): understood by whatever else a company runs, and
/// small.
struct SigningKey: Sendable, Equatable {
    let id: SigningKeyID
    /// The scalar of the private key, 32 bytes in base64url: `d` of RFC 7518, section 6.2.2.1.
    let privateKey: Secret
    let created: WireDate
    /// When tokens signed with it stop being accepted; nil while it is the one that signs.
    let verifiesUntil: WireDate?

    func key() throws -> P256.Signing.PrivateKey {
        guard let bytes = Base64URL.decode(privateKey.reveal()),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else {
            throw PorticoError(.serverInternal, "A stored signing key can't be read.", logDetail: "kid \(id)")
        }
        return key
    }

    /// The scalar is drawn from `randomness`: a draw outside of the curve's order is as likely as guessing the key.
    static func make(_ randomness: any Randomness, at now: WireDate) -> SigningKey {
        while true {
            let bytes = randomness.bytes(32)
            guard (try? P256.Signing.PrivateKey(rawRepresentation: bytes)) != nil else { continue }
            return SigningKey(
                id: SigningKeyID(randomness), privateKey: Secret(Base64URL.encode(bytes)), created: now,
                verifiesUntil: nil)
        }
    }
}

/// How a signing key lies in the store. The private key is there in the clear, as the accounts are: who can read the
/// database owns the gateway anyway, and a key beside it would be read with it. docs/decisions/0053.
enum SigningKeyRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.signingKeys, summary: "Keys that sign access tokens.",
        fields: [
            Field("privateKey", .string(maximumLength: 64), isRequired: true),
            Field("created", .date, isRequired: true),
            Field("verifiesUntil", .date, isNullable: true),
        ])

    static func read(_ record: Record) throws -> SigningKey {
        let reader = RecordReader(record)
        return SigningKey(
            id: try reader.id(), privateKey: Secret(try reader.text("privateKey")), created: try reader.date("created"),
            verifiesUntil: try reader.optional("verifiesUntil", reader.date))
    }

    static func creation(_ key: SigningKey) -> RecordChange {
        let fields: WireDictionary = [
            "privateKey": .string(key.privateKey.reveal()), "created": .date(key.created),
            "verifiesUntil": .optional(key.verifiesUntil),
        ]
        return RecordChange(IdentityCollections.signingKeys, .create(key.id.recordID, fields), if: .absent)
    }

    static func retirement(_ key: SigningKey, until: WireDate) -> RecordChange {
        RecordChange(IdentityCollections.signingKeys, .update(key.id.recordID, ["verifiesUntil": .date(until)]))
    }

    static func deletion(_ key: SigningKey) -> RecordChange {
        RecordChange(IdentityCollections.signingKeys, .delete(key.id.recordID))
    }
}
