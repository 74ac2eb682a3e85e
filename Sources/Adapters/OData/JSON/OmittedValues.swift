import AdapterKit
import ODataModel
import ODataRecords

/// Values that a caller knows without being told (`omit-values`, Protocol 4.01, section 8.2.8.6). Collections are told
/// in any case.
enum OmittedValues: String, Sendable {
    case nulls
    /// What the model says that properties have by themselves, which is null where it says nothing.
    case defaults

    /// A value of what is no property, such as a computed one, has no default but null.
    func leavesOut(_ value: WireValue, _ type: TypeReference, of property: StructuralProperty?, _ form: StoredForm)
        -> Bool
    {
        guard !type.isCollection else { return false }
        guard self == .defaults, let text = property?.defaultValue else { return value.isNull }
        return value == form.value(text: text, type: type)
    }
}
