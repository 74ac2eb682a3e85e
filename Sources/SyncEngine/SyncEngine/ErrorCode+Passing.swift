import AdapterKit
import RecordStorage

extension ErrorCode {
    /// Says something about the moment and nothing about the mutation, which is sent again later.
    var passes: Bool {
        switch self {
        case .storeUnavailable, .storeFull, .overloaded, .stopping, .serverInternal, .deadlineExceeded,
            .adapterUnavailable, .upstreamFailed, .upstreamTimeout:
            true
        default: false
        }
    }
}
