import AdapterKit

/// What may be chosen as a password: long enough, not absurdly long, no NUL. No rules about kinds of letters, which make
/// passwords worse (NIST SP 800-63B, section 5.1.1.2). Bytes are taken as they come, without normalisation.
struct PasswordPolicy: Sendable {
    static let maximumBytes = 1024

    let minimumLength: Int

    /// Throws `request.invalid` with a message for whoever chose it.
    func check(_ password: Secret, for name: AccountName) throws {
        let text = password.reveal()
        guard text.unicodeScalars.count >= minimumLength else {
            throw refusal("A password has at least \(minimumLength) characters.")
        }
        guard Self.isPossible(password) else {
            throw refusal("A password has at most \(Self.maximumBytes) bytes and no NUL.")
        }
        guard AccountName.fold(text) != name.folded else {
            throw refusal("The account's name is no password.")
        }
    }

    /// Whether any account could have it. What can't be is hashed all the same, but as a constant: long texts would
    /// make refusals slow.
    static func isPossible(_ password: Secret) -> Bool {
        let text = password.reveal()
        return !text.isEmpty && text.utf8.count <= maximumBytes && !text.utf8.contains(0)
    }

    private func refusal(_ message: String) -> PorticoError {
        PorticoError(.requestInvalid, message, target: "password")
    }
}
