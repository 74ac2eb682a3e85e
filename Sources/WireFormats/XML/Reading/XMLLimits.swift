/// Limits that only XML needs, beside ``ReadingLimits``. They are far above what documents have and keep the checks that
/// look at all attributes or all bindings cheap.
enum XMLLimits {
    /// Bytes of one name, prefix included.
    static let name = 10_000
    /// Attributes of one element, namespace declarations included.
    static let attributes = 2_000
    /// Namespace declarations in force at one place.
    static let bindings = 256
    /// Digits of a character reference; leading zeros are legal, so there may be more than the value needs.
    static let referenceDigits = 32
}
