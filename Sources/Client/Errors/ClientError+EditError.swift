import SyncDevice

extension ClientError {
    init(_ error: EditError) {
        switch error {
        case .recordExists: self = .recordExists
        case .recordNotFound: self = .recordNotFound
        case .outboxFull: self = .outboxFull
        }
    }
}
