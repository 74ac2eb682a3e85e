import AdapterKit

/// The error that a caller is told; nil where the call succeeds. Errors of other types pass through.
func refusal<Result>(_ call: () async throws -> Result) async throws -> PorticoError? {
    do {
        _ = try await call()
        return nil
    } catch let error as PorticoError {
        return error
    }
}
