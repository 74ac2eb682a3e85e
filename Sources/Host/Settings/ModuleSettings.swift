import AdapterKit
import AttachmentFiles
import BrowserClient
import Explorer
import Gateway
import HostConfiguration
import Identity
import RecordStorage
import SyncEngine

extension GatewaySettings {
    init(_ values: SettingValues, isSecure: Bool, modules: [AdapterName: String], pages: [PageFile]) {
        self.init()
        limits = GatewayLimits(values)
        cookie = SessionCookieSettings(name: values.text("identity.session.cookie.name"), isSecure: isSecure)
        allowsBasic = values.flag("identity.basic.enabled")
        portalLogin = PathTemplate(values.text("identity.portalLogin"))
        origins = Set(values.texts("http.cors.origins"))
        publicURL = values.text("http.publicURL")
        preflightMaxAge = Int(values.duration("http.corsMaxAge").components.seconds)
        version = PorticoRelease.version
        self.modules = modules
        sync = SyncSettings(values)
        liveFeeds = LiveFeedSettings(values)
        self.pages = BrowserFiles.all + ExplorerFiles.all + pages
    }
}

extension SyncSettings {
    init(_ values: SettingValues) {
        self.init()
        pages.page = values.integer("sync.limits.page")
        pages.largestPage = values.integer("sync.limits.largestPage")
        pages.pageBytes = max(1, values.size("sync.limits.pageBytes"))
        pages.scan = values.integer("sync.limits.scan")
        pages.regrant = values.integer("sync.limits.regrant")
        mutations = values.integer("sync.limits.mutations")
        streams = values.integer("sync.limits.streams")
        streamsPerPrincipal = values.integer("limits.streamsPerPrincipal")
        heartbeat = values.duration("sync.live.heartbeat")
        longestPoll = values.duration("sync.live.longestPoll")
        largestAttachment = values.size("sync.limits.attachment")
        attachments = values.size("sync.limits.attachments")
        uploads = values.integer("sync.limits.uploads")
        uploadsPerPrincipal = values.integer("sync.limits.uploadsPerPrincipal")
        unnamedPerPrincipal = values.size("sync.limits.unnamedPerPrincipal")
        attachmentWindow = values.duration("sync.attachments.window")
        keptCopies = values.duration("sync.keptCopies")
        offlineWindow = values.duration("sync.offlineWindow")
        livePage = values.integer("sync.live.page")
    }
}

extension LiveFeedSettings {
    init(_ values: SettingValues) {
        self.init()
        page = values.integer("live.limits.page")
        pieceBytes = values.size("live.limits.piece")
        replay = values.integer("live.limits.replay")
        presenceListeners = values.integer("live.limits.presence")
        presenceGrace = values.duration("live.presenceGrace")
    }
}

extension AttachmentLimits {
    init(_ settings: SyncSettings) {
        self.init(
            each: Int64(settings.largestAttachment), total: Int64(settings.attachments), uploads: settings.uploads,
            uploadsPerPrincipal: settings.uploadsPerPrincipal,
            unnamedPerPrincipal: Int64(settings.unnamedPerPrincipal))
    }
}

extension AdapterLimits {
    init(_ values: SettingValues) {
        self.init(
            start: values.duration("limits.adapterStart"), startWait: values.duration("limits.adapterStartWait"),
            longestRetry: values.duration("limits.adapterRetry"), stop: values.duration("limits.adapterStop"))
    }
}

extension RetentionWindows {
    init(_ settings: SyncSettings) {
        self.init(offline: settings.offlineWindow / .seconds(1), kept: settings.keptCopies / .seconds(1))
    }
}

extension GatewayLimits {
    init(_ values: SettingValues) {
        self.init()
        body = values.size("http.limits.body")
        expansion = values.integer("http.limits.expansion")
        uri = values.size("http.limits.uri")
        head = values.size("http.limits.head")
        fields = values.integer("http.limits.fields")
        depth = values.integer("http.limits.depth")
        self.values = values.integer("http.limits.values")
        formFields = values.integer("http.limits.formFields")
        formField = values.size("http.limits.formField")
        page = values.integer("http.limits.page")
        pageBytes = values.size("http.limits.pageBytes")
        batch = values.integer("http.limits.batch")
        batchParallel = values.integer("http.limits.batchParallel")
        batchAnswer = values.size("http.limits.batchAnswer")
        filter = values.size("http.limits.filter")
        answerCache = values.size("http.limits.answerCache")
        importFile = values.size("http.limits.import")
        chunk = values.size("http.limits.chunk")
        inFlight = values.integer("http.limits.inFlight")
        inFlightPerCaller = values.integer("http.limits.inFlightPerCaller")
        inFlightPerAdapter = values.integer("http.limits.inFlightPerAdapter")
        urgent = values.integer("http.limits.urgent")
        incompletePerAddress = values.integer("http.limits.incompletePerAddress")
        queuePerCaller = values.integer("http.limits.queuePerCaller")
        queuePerAdapter = values.integer("http.limits.queuePerAdapter")
        routes = values.list("limits.routes").compactMap { entry in
            guard let path = entry["path"]?.text, let limit = entry["requestsPerMinute"]?.integer else { return nil }
            return RouteRate(path: path, requestsPerMinute: limit)
        }
        requestsPerMinute = values.integer("limits.requestsPerMinute")
        addressRequestsPerMinute = values.integer("limits.addressRequestsPerMinute")
    }
}

extension IdentityConfiguration {
    init(_ values: SettingValues) {
        self.init()
        sessions.lifetime = values.duration("identity.session.lifetime")
        sessions.idle = values.duration("identity.session.idle")
        tokens.accessLifetime = values.duration("identity.tokens.accessLifetime")
        tokens.refreshLifetime = values.duration("identity.tokens.refreshLifetime")
        basic.enabled = values.flag("identity.basic.enabled")
        let cost = values.integer("identity.passwords.cost")
        if let scrypt = ScryptParameters.recommended.with(logRounds: cost) { passwords.scrypt = scrypt }
        auditedRefusalsPerHour = values.integer("identity.audit.refusalsPerHour")
        auditRetention = values.optionalDuration("identity.audit.retention")
        // Who waits longer than this is refused while there is still time to answer.
        passwords.longestWait = min(
            values.duration("identity.login.queueTimeout"), values.duration("http.deadlines.request") / 2)
        let first = values.duration("identity.login.backoff")
        backoff.pair.first = first
        backoff.account.first = first
        backoff.address.first = first
    }
}
