package apps;

import jakarta.servlet.http.HttpSession;
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.quartz.*;
import org.springframework.batch.core.*;
import org.springframework.batch.core.explore.JobExplorer;
import org.springframework.batch.core.job.builder.JobBuilder;
import org.springframework.batch.core.launch.JobLauncher;
import org.springframework.batch.core.repository.JobRepository;
import org.springframework.batch.core.step.builder.StepBuilder;
import org.springframework.batch.item.support.ListItemReader;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.web.bind.annotation.*;

/** Camunda with its REST interface; beside it a door each to Quartz, Spring Batch and Spring Session, which store by their own statements. */
@SpringBootApplication(proxyBeanMethods = false)
@RestController
public class Main {
    static final AtomicInteger ticks = new AtomicInteger();
    @Autowired @Lazy Scheduler scheduler;
    @Autowired @Lazy JobLauncher launcher;
    @Autowired @Lazy JobExplorer explorer;
    @Autowired @Lazy org.springframework.batch.core.Job counting;

    public static void main(String[] arguments) { SpringApplication.run(Main.class, arguments); }

    /** Fires each second; its count is in the store. */
    @PersistJobDataAfterExecution
    @DisallowConcurrentExecution
    public static class Tick implements org.quartz.Job {
        public void execute(JobExecutionContext context) {
            JobDataMap kept = context.getJobDetail().getJobDataMap();
            kept.put("count", kept.containsKey("count") ? kept.getInt("count") + 1 : 1);
            ticks.incrementAndGet();
        }
    }

    @Bean JobDetail tick() { return org.quartz.JobBuilder.newJob(Tick.class).withIdentity("tick", "é").withDescription("ticks 😀").storeDurably().build(); }

    @Bean Trigger often(JobDetail tick) { return TriggerBuilder.newTrigger().forJob(tick).withIdentity("often").withSchedule(SimpleScheduleBuilder.repeatSecondlyForTotalCount(5)).build(); }

    @Bean Trigger daily(JobDetail tick) { return TriggerBuilder.newTrigger().forJob(tick).withIdentity("daily").withSchedule(CronScheduleBuilder.cronSchedule("0 0 3 1 1 ? 2099")).build(); }

    @GetMapping("/ticks") String ticks() throws Exception {
        return ticks.get() + " " + scheduler.getJobDetail(JobKey.jobKey("tick", "é")).getJobDataMap().get("count") + " " + scheduler.getTriggersOfJob(JobKey.jobKey("tick", "é")).size() + " " + scheduler.getMetaData().isJobStoreClustered();
    }

    @Bean Step step(JobRepository repository, PlatformTransactionManager transactions) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 25; i++) numbers.add(i);
        return new StepBuilder("numbers", repository).<Integer, Integer>chunk(10, transactions).reader(new ListItemReader<>(numbers)).processor((Integer n) -> n % 5 == 0 ? null : n).writer(chunk -> { }).build();
    }

    @Bean org.springframework.batch.core.Job counting(JobRepository repository, Step step) { return new JobBuilder("counting", repository).start(step).build(); }

    @PostMapping("/batch/{name}") String batch(@PathVariable("name") String name) throws Exception {
        try {
            JobExecution done = launcher.run(counting, new JobParametersBuilder().addString("name", name).addDouble("x", 1.5).addLong("n", 7L).toJobParameters());
            StepExecution step = done.getStepExecutions().iterator().next();
            return done.getStatus() + " " + step.getReadCount() + " " + step.getFilterCount() + " " + step.getWriteCount() + " " + step.getCommitCount() + " of " + explorer.getJobInstanceCount("counting");
        } catch (org.springframework.batch.core.JobExecutionException error) {
            return error.getClass().getSimpleName();
        }
    }

    @PostMapping("/visits") String visits(HttpSession session, @RequestBody String said) {
        List<String> all = new ArrayList<>((List<String>) Optional.ofNullable(session.getAttribute("all")).orElse(List.of()));
        all.add(said);
        session.setAttribute("all", new ArrayList<>(all));
        return all.toString();
    }
}
