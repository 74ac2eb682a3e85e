/// A text that must not be seen: every description of it is a placeholder, and only ``reveal()`` gives it out.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    public init(_ text: String) {
        self.text = text
    }

    /// The text itself, for the one place that needs it.
    public func reveal() -> String { text }

    public var description: String { "<secret>" }
    public var debugDescription: String { "<secret>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
