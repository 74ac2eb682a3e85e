import PluginHost
import Testing

/// Why the host refuses to load the file; nil, with an issue, where it does not refuse.
func refusal(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) -> PluginError.Reason? {
    #expect(throws: PluginError.self, sourceLocation: sourceLocation) { _ = try PluginHost().load(path) }?.reason
}
