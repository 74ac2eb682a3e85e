import Testing

@testable import Backups

@Suite struct BackupScheduleTests {
    @Test func `how often, or a time of the day`() {
        #expect(BackupSchedule("12h") == .every(43_200))
        #expect(BackupSchedule("1d") == .every(86_400))
        #expect(BackupSchedule("90m") == .every(5_400))
        #expect(BackupSchedule("03:30") == .daily(12_600))
        for text in ["", "d", "0h", "3:30", "24:00", "03:60", "-1d", "1w", "1.5h", "400d", "03:30:00", "９h"] {
            #expect(BackupSchedule(text) == nil, "\(text)")
        }
    }

    @Test func `the next time is later than the last, and a time of the day comes once a day`() throws {
        let schedule = try #require(BackupSchedule("03:30"))
        let midnight = 1_800_000_000.0 - 1_800_000_000.0.truncatingRemainder(dividingBy: 86_400)
        #expect(schedule.next(after: midnight) == midnight + 12_600)
        #expect(schedule.next(after: midnight + 12_600) == midnight + 86_400 + 12_600)
        #expect(schedule.next(after: midnight + 12_601) == midnight + 86_400 + 12_600)
        #expect(try #require(BackupSchedule("6h")).next(after: 100) == 21_700)
    }
}
