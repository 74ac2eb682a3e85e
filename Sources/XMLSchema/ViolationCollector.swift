import CLibXML2

/// Takes what libxml2 reports while it works, on the thread that called it.
final class ViolationCollector {
    private(set) var violations: [XMLSchemaViolation] = []

    static func collect(_ collector: UnsafeMutableRawPointer?, _ error: UnsafePointer<xmlError>?) {
        guard let collector, let error else { return }
        Unmanaged<ViolationCollector>.fromOpaque(collector).takeUnretainedValue().add(error.pointee)
    }

    private func add(_ error: xmlError) {
        guard violations.count < XMLSchema.reportedViolations else { return }
        var message = error.message.map { String(cString: $0) } ?? "unknown"
        while message.last?.isWhitespace == true { message.removeLast() }
        violations.append(XMLSchemaViolation(message: message, line: max(1, Int(error.line))))
    }
}
