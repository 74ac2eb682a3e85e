import AdapterKit
import Foundation
import ODataAdapter
import Testing

/// Records to show a service with, which nobody wants among those of a real one.
@Suite struct ODataSampleTests {
    private static let demonstration = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Config/odata/admissions.csdl.xml")
        .path

    private func samples(_ model: String, _ more: WireDictionary = [:]) throws -> [SampleRecords] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-samples-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try model.write(to: folder.appendingPathComponent("model.xml"), atomically: true, encoding: .utf8)
        var service: WireDictionary = ["model": "model.xml"]
        for entry in more { service[entry.key] = entry.value }
        return try ODataModule.make(
            AdapterConfiguration(["services": ["admissions": .dictionary(service)]], directory: folder.path)
        ).sampleRecords()
    }

    @Test func `the demonstration's model has samples in every set`() throws {
        let samples = try samples(String(contentsOfFile: Self.demonstration, encoding: .utf8), ["samples": 80])
        #expect(samples.count == 6 && samples.allSatisfy { !$0.records.isEmpty })
        #expect(samples.first { $0.entity == "admissions-Students" }?.records.count == 80)
    }

    @Test func `the demonstration's model in front of another system has none`() throws {
        #expect(
            try samples(String(contentsOfFile: Self.demonstration, encoding: .utf8), ["upstream": "back"]).isEmpty)
    }

    @Test(arguments: [
        ("MaxLength=\"120\"", "MaxLength=\"119\""),
        ("<Property Name=\"City\" Type=\"Edm.String\" MaxLength=\"60\"/>", ""),
        ("Name=\"SchoolID\" Type=\"Edm.Int32\"", "Name=\"SchoolID\" Type=\"Edm.Int64\""),
        ("Name=\"City\" Type=\"Edm.String\"", "Name=\"City\" Type=\"Edm.String\" Nullable=\"false\""),
        ("EntitySet Name=\"States\"", "EntitySet Name=\"Regions\""),
    ])
    func `a model of the same namespace with other tables has none`(part: String, other: String) throws {
        let model = try String(contentsOfFile: Self.demonstration, encoding: .utf8)
        let changed = model.replacingOccurrences(of: part, with: other)
            .replacingOccurrences(
                of: "Target=\"States\"", with: other.contains("Regions") ? "Target=\"Regions\"" : "Target=\"States\"")
        #expect(changed != model)
        #expect(try samples(changed).isEmpty)
    }

    @Test func `a service of SAP's that has the demonstration's name has none`() throws {
        let model = """
            <edmx:Edmx Version="1.0" xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx"><edmx:DataServices
            m:DataServiceVersion="2.0" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
            <Schema Namespace="ADMISSIONSCOUNSELOR" xmlns="http://schemas.microsoft.com/ado/2008/09/edm">
              <EntityType Name="Student"><Key><PropertyRef Name="StudentID"/></Key>
                <Property Name="StudentID" Type="Edm.String" Nullable="false" MaxLength="10"/></EntityType>
              <EntityContainer Name="Container" m:IsDefaultEntityContainer="true">
                <EntitySet Name="Students" EntityType="ADMISSIONSCOUNSELOR.Student"/></EntityContainer>
            </Schema></edmx:DataServices></edmx:Edmx>
            """
        #expect(try samples(model).isEmpty)
    }
}
