import Foundation

/// The device's clock, as people set it.
public enum WallTime {
    /// Seconds since 1970.
    public static let now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
}
