import AdapterKit
import Synchronization

/// The calls of another system that one request makes: in whose name, and how old the answers are.
final class CalledRequest: Sendable {
    let caller: Principal
    /// Whether answers that are kept will do: not where something is changed.
    let takesKept: Bool
    private let oldest = Mutex<RecordAge?>(nil)

    init(_ caller: Principal, takesKept: Bool) {
        (self.caller, self.takesKept) = (caller, takesKept)
    }

    /// The sign-in with its roles, to which answers in its caller's name belong; nil: there is none.
    var owner: String? {
        guard !caller.isAnonymous, let signIn = CallContext.current?.signIn else { return nil }
        return "\(signIn)\n\(caller.id)\n\(caller.roleList)"
    }

    /// The age of the oldest answer so far; nil: there is none yet.
    var age: RecordAge? { oldest.withLock { $0 } }

    func note(_ age: RecordAge) {
        oldest.withLock { oldest in
            if let known = oldest, known.asOf <= age.asOf { return }
            oldest = age
        }
    }
}
