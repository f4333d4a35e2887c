import { runService } from '@parley/service/run-service';
import { studyKitExport } from './service.ts';

await runService(studyKitExport);
