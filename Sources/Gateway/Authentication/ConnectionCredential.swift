import AdapterKit
import Identity

/// The field that a connection's last request named its caller with, and what memory finds that credential by. The next
/// request mostly brings the same field, and hashing it costs more than everything else that memory is asked.
///
/// It says nothing about whether the credential is valid: memory is asked that with every request.
struct ConnectionCredential {
    struct Name {
        let key: CredentialKey
        /// Where the credential is one.
        let sessionCookie: Secret?
    }

    private var last: (field: Secret, name: Name)?

    /// What `read` makes of the field, or made of the same field before. Nil is not remembered.
    mutating func name(in field: String, isCookie: Bool, read: (String) -> Name?) -> Name? {
        if let last, (last.name.sessionCookie != nil) == isCookie, last.field.reveal().isSameInConstantTime(as: field) {
            return last.name
        }
        let name = read(field)
        last = name.map { (Secret(field), $0) }
        return name
    }
}
