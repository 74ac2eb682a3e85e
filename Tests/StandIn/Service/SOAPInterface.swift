import AdapterKit
import SOAP
import WireFormats

/// The employee search over SOAP, as a company's own service has it: other names around the contract's members.
struct SOAPInterface: Sendable {
    static let path = "sca/OrganizationInterfaceExport"
    private static let operation = "employeeSearch"
    private static let employee = ObjectShape(
        "EmployeeBO",
        members: ["firstName", "lastName", "division", "email", "phoneNumber"].map {
            Member($0, .string(maximumLength: Employee.longestText), isRequired: true)
        })

    private let definition = ServiceDefinition(
        "OrganizationInterface", namespace: "urn:portico:stand-in:organization",
        operations: [
            (
                operation,
                ObjectShape(
                    "SearchCriteriaBO",
                    members: [
                        Member("division", .string, isNullable: true), Member("order", .choice(["ASC", "DESC"])),
                        Member("rowsPerPage", .integer), Member("pageIndex", .integer),
                        Member("fullName", .string, isNullable: true),
                    ]),
                .object(
                    ObjectShape(
                        "PageOfEmployeeBO",
                        members: [
                            Member("employees", .list(of: .object(employee)), isRequired: true),
                            Member("totalRows", .integer, isRequired: true),
                            Member("pageIndex", .integer, isRequired: true),
                            Member("rowsPerPage", .integer, isRequired: true),
                        ]))
            )
        ])

    func wsdl(_ request: ServiceRequest) -> ServiceResponse {
        let address = "http://\(request["Host"] ?? "127.0.0.1")\(request.path)"
        return Self.document(200, definition.wsdl(address: address), .soap11)
    }

    /// Answers a message by what the search in JSON does with its criteria.
    func answer(
        _ request: ServiceRequest, search: (WireValue) throws(ServiceError) -> WireValue
    ) -> ServiceResponse {
        let version = Self.version(request)
        do {
            let message = try SOAPMessage(request.body)
            var reader = SOAPValueReader(definition.schema)
            guard message.body.count == 1, let element = message.body.first,
                let operation = definition.operation(QName(element.name, in: element.namespace)),
                let criteria = try reader.read(element, as: operation.input)[ServiceDefinition.inputName]
            else { throw SOAPFault(.sender, "There is no such operation.") }
            return Self.document(
                200, try definition.writeResponse(try search(criteria), of: operation, in: message.version),
                message.version)
        } catch let fault as SOAPFault {
            return Self.document(
                500, definition.fault(fault, in: version, detail: [fault.code.rawValue, fault.reason, ""]), version)
        } catch let error as ServiceError {
            return fault(error, to: request)
        } catch {
            return fault(.invalid("\(error)"), to: request)
        }
    }

    /// In SOAP's shape; a wrong request has the status that faults have.
    func fault(_ error: ServiceError, to request: ServiceRequest) -> ServiceResponse {
        let version = Self.version(request)
        let isSenders = error.status < 500
        let fault = SOAPFault(isSenders ? .sender : .receiver, error.message)
        return Self.document(
            [400, 422].contains(error.status) ? 500 : error.status,
            definition.fault(fault, in: version, detail: [error.code, error.message, ""]), version)
    }

    /// Whether a path is the interface's.
    static func isAt(_ segments: some Collection<String>) -> Bool {
        let own = segments.first == "iPhoneServicesModuleWeb" ? segments.dropFirst() : segments[...]
        return own.joined(separator: "/") == path
    }

    private static func version(_ request: ServiceRequest) -> SOAPVersion {
        request["Content-Type"]?.hasPrefix(SOAPVersion.soap12.mediaType) == true ? .soap12 : .soap11
    }

    private static func document(_ status: Int, _ bytes: [UInt8], _ version: SOAPVersion) -> ServiceResponse {
        ServiceResponse(status, contentType: "\(version.mediaType); charset=utf-8", body: bytes)
    }
}
