import AdapterKit

/// How much an account may say about somebody.
enum AccountLimits {
    static let attributes = 50
    static let attributeName = 64
    static let attributeValue = 1024

    static func check(displayName: String) throws {
        guard (1...AccountRecord.maximumDisplayName).contains(displayName.unicodeScalars.count) else {
            throw PorticoError(
                .requestInvalid, "A display name has 1 to \(AccountRecord.maximumDisplayName) characters.",
                target: "displayName")
        }
    }

    static func check(attributes: [String: String]) throws {
        let isSmall =
            attributes.count <= self.attributes
            && attributes.allSatisfy {
                (1...attributeName).contains($0.key.unicodeScalars.count)
                    && $0.value.unicodeScalars.count <= attributeValue
            }
        guard isSmall else {
            throw PorticoError(
                .requestInvalid,
                "An account has at most \(self.attributes) attributes, names of \(attributeName) and values of "
                    + "\(attributeValue) characters.", target: "attributes")
        }
    }

    /// For the audit log, which keeps at most 1024 characters.
    static func text(_ roles: Set<RoleName>) -> String {
        String(roles.sorted().map(\.text).joined(separator: ",").prefix(1000))
    }
}
