/// Where unpredictable bytes come from. Passed in, so that a test can decide what is drawn.
public protocol Randomness: Sendable {
    /// `count` bytes that nobody can predict from earlier ones. Safe to call from any task.
    func bytes(_ count: Int) -> [UInt8]
}

/// The operating system's generator (`getrandom(2)` on Linux).
public struct SystemRandomness: Randomness {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
