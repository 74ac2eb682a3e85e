import Shapes
import WireFormats

/// One row of the table of goals: our work, the peer's, and how many times the peer's speed is asked for, on the worst
/// of the three shapes.
struct Goal {
    let work: OurWork
    let peer: PeerWork
    let floor: Double
    let goal: Double

    static let all = [
        Goal(.validate(.json), .simdjson, floor: 0.35, goal: 0.5),
        Goal(.read(.json), .rapidJSON, floor: 0.4, goal: 0.7),
        Goal(.read(.json), .jsonSerialization, floor: 3, goal: 5),
        Goal(.write(.json), .jsonEncoder, floor: 8, goal: 12),
        Goal(.write(.plist), .plistToXML, floor: 1.5, goal: 2.5),
        Goal(.read(.plist), .plistFromXML, floor: 2.5, goal: 5),
        Goal(.write(.bplist), .plistToBinary, floor: 3, goal: 6),
        Goal(.read(.bplist), .plistFromBinary, floor: 0.9, goal: 1.8),
        Goal(.scanXML, .libxmlEvents, floor: 1.3, goal: 2),
        Goal(.transcode(.json, to: .bplist), .jsonToBinary, floor: 2.5, goal: 5),
    ]

    private init(_ work: OurWork, _ peer: PeerWork, floor: Double, goal: Double) {
        (self.work, self.peer, self.floor, self.goal) = (work, peer, floor, goal)
    }
}
