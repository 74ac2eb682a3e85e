/// A file or folder that a configuration names.
public struct NamedPath: Sendable, Hashable {
    /// Where a relative path begins.
    public enum Base: Sendable {
        /// The data directory.
        case data
        /// The folder of the configuration's file.
        case configuration
        /// The folder in which the gateway was started.
        case workingDirectory
    }

    /// The key that names it, for people.
    public let key: String
    /// As it is written.
    public let path: String
    public let base: Base

    public init(key: String, path: String, from base: Base) {
        (self.key, self.path, self.base) = (key, path, base)
    }
}
