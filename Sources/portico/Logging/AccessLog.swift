import Gateway
import Logging

extension LogOutput {
    /// The access log: a line for every request. Past swift-log, whose metadata cost more than the line itself.
    func write(_ access: AccessRecord) {
        write(.info, "request") { line in
            line.add("method", access.method)
            line.add("path", access.path)
            line.add("status", Int64(access.status))
            line.add("microseconds", access.microseconds)
            line.add("bytes", Int64(access.bytes))
            line.add("caller", access.caller)
            if let refusal = access.refusal { line.add("code", refusal.code) }
            line.add("endpoint", access.endpoint)
            if let refusal = access.refusal { line.add("reason", refusal.reason) }
            line.add("requestId", access.id)
        }
    }
}
