/// Functions and actions of a service whose data another adapter keeps: a model says what they take and answer, this
/// says what they do. An adapter, a plugin's too, hands them out as ``Adapter/serviceOperations``.
public protocol ServiceOperations: Sendable {
    /// Which operations it answers, with their namespace: `Shop.Model.GetTopProducts`. All overloads of a name together.
    var names: Set<String> { get }

    /// Throws ``PorticoError`` for what the caller should learn.
    func perform(_ call: ServiceCall) async throws -> ServiceResult
}

/// One call of a function or an action, checked against the model.
public struct ServiceCall: Sendable {
    /// The target of a binding.
    public enum Binding: Sendable {
        /// Nothing: it is called by its name alone.
        case none
        /// One record of a set.
        case record(set: String, Record)
        /// Records of a set, as far as the filter holds (nil: all).
        case records(set: String, Filter?)
    }

    /// With its namespace.
    public let name: String
    /// The overload's parameters, the binding one aside, in declared order; one that was left out has no argument.
    public let parameters: [String]
    /// By parameter, as records hold such values.
    public let arguments: [String: WireValue]
    /// The binding of the operation.
    public let binding: Binding
    /// The records of the service.
    public let service: any ServiceRecords
    /// The caller.
    public let caller: Principal

    /// Creates a service call with these values.
    public init(
        name: String, parameters: [String], arguments: [String: WireValue], binding: Binding,
        service: any ServiceRecords, caller: Principal
    ) {
        self.name = name
        self.parameters = parameters
        self.arguments = arguments
        self.binding = binding
        self.service = service
        self.caller = caller
    }

    /// Null where it was left out.
    public subscript(parameter: String) -> WireValue { arguments[parameter] ?? .null }
}

/// A service's records, for its operations.
public protocol ServiceRecords: Sendable {
    /// As far as the caller may see and change them.
    var records: any RecordStore { get }

    /// The entity that a set's or singleton's records are of; nil where there is none.
    func entity(of set: String) -> EntityName?

    /// The field that holds a property's value.
    func field(_ property: String, of set: String) -> FieldName?

    /// Everything away, the seed in again. Requests under way end first, new ones wait.
    func reseed() async throws
}

/// The answer of an operation.
public enum ServiceResult: Sendable {
    /// No value.
    case nothing
    /// As records hold such values; a complex value as a dictionary by property.
    case value(WireValue)
    /// A record of a set.
    case record(set: String, RecordID)
    /// In this order.
    case records(set: String, [RecordID])
}
