// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

public struct AdmissionsService: Sendable {
    public let connection: ODataConnection

    public init(_ carrier: any ODataCarrier, at root: [String] = ["odata", "v4", "admissions"], version: ODataVersion = .v4) {
        connection = ODataConnection(carrier, root: root, version: version)
    }

    public var states: ODataSet<State> { ODataSet(connection, "States") }
    public var schools: ODataSet<School> { ODataSet(connection, "Schools") }
    public var students: ODataSet<Student> { ODataSet(connection, "Students") }
    public var counselors: ODataSet<Counselor> { ODataSet(connection, "Counselors") }
    public var visits: ODataSet<Visit> { ODataSet(connection, "Visits") }
    public var appointments: ODataSet<Appointment> { ODataSet(connection, "Appointments") }
}
