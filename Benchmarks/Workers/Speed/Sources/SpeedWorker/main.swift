import AdapterWorker
import Speed

AdapterWorkerProgram.run(SpeedModule.self, version: "1")
