/// Operations of an adapter that are reached over SOAP too (SOAP 1.1 and 1.2, document/literal wrapped).
///
/// The gateway reads the messages, checks access and input as for every binding of the operation, and answers failures as
/// faults. The WSDL that it answers to `GET PATH?wsdl` is made of the operations' shapes, so it says what the other bindings
/// say.
public struct SOAPService: Sendable, Equatable {
    /// The name of the WSDL's service and port type.
    public let name: String
    /// The namespace of the service's elements and types.
    public let namespace: String
    /// Where it is reached; the first one is in the WSDL. Without parameters.
    public let paths: [PathTemplate]
    /// The operations, by the names that the adapter declares. None answers a document.
    public let operations: [OperationName]

    /// Creates a SOAP service with these values.
    public init(_ name: String, namespace: String, paths: [PathTemplate], operations: [OperationName]) {
        self.name = name
        self.namespace = namespace
        self.paths = paths
        self.operations = operations
    }
}
