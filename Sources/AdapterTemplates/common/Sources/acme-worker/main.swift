// The adapter as a program, which the gateway starts and restarts.
import AcmeAdapter
import AdapterWorker

AdapterWorkerProgram.run(AcmeModule.self)
