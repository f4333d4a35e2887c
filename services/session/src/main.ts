import { runService } from '@parley/service/run-service';
import { session } from './service.ts';

await runService(session);
