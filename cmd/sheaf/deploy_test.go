package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// deployed returns a file of the folder deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// serveFlags returns the names of the settings of sheaf serve.
func serveFlags(t *testing.T) (names []string) {
	t.Helper()
	for _, command := range newProgram(nil, "", nil, nil).parser().Model.Children {
		if command.Name == "serve" {
			for _, f := range command.Flags {
				names = append(names, f.Name)
			}
		}
	}
	if !slices.Contains(names, "database-url") {
		t.Fatalf("the settings are %q", names)
	}
	return names
}

// Every setting in a file exists.
func TestDeploy_UsesSettingsThatExist(t *testing.T) {
	t.Parallel()
	flags := serveFlags(t)
	for _, name := range []string{"sheaf.service", "sheaf.env", "Dockerfile", "compose.yaml", "alerts.yml"} {
		text := deployed(t, name)
		for _, v := range regexp.MustCompile(`\bSHEAF_[A-Z_]+`).FindAllString(text, -1) {
			flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(v, "SHEAF_"), "_", "-"))
			if !slices.Contains(flags, flag) && !slices.Contains(flags, strings.TrimSuffix(flag, "-file")) {
				t.Errorf("%s sets %s, which is not a setting", name, v)
			}
		}
		for _, v := range regexp.MustCompile(`(?:sheaf serve|the bound of|with|of) --([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(flags, v[1]) && v[1] != "help" {
				t.Errorf("%s names --%s, which is not a setting", name, v[1])
			}
		}
	}
}

// The unit allows AF_NETLINK: without it the program cannot read this machine's own addresses,
// which deliveries must not reach.
func TestDeploy_TheSandboxLetsItReadItsAddresses(t *testing.T) {
	unit, err := os.ReadFile("../../deploy/sheaf.service")
	if err != nil || !regexp.MustCompile(`(?m)^RestrictAddressFamilies=.*\bAF_NETLINK\b`).Match(unit) {
		t.Errorf("deploy/sheaf.service does not allow AF_NETLINK (%v)", err)
	}
}

// The program accepts the values of the unit, of the container, and all of sheaf.env at once with
// the comment signs removed.
func TestDeploy_UsesValuesThatAreAccepted(t *testing.T) {
	t.Parallel()
	key := t.TempDir() + "/master.key"
	if err := os.WriteFile(key, []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	setting := regexp.MustCompile(`(SHEAF_[A-Z_]+)[=:] ?(\S+)`)
	for _, name := range []string{"sheaf.service", "sheaf.env", "Dockerfile", "compose.yaml"} {
		env := environment{}
		for _, m := range setting.FindAllStringSubmatch(deployed(t, name), -1) {
			env[m[1]] = strings.ReplaceAll(m[2], "${POSTGRES_PASSWORD:?choose", "pw")
		}
		if name == "compose.yaml" {
			env = compose(t)
		}
		if _, ok := env["SHEAF_MASTER_KEY_FILE"]; ok {
			env["SHEAF_MASTER_KEY_FILE"] = key
		}
		if got := sheafWith(t, env, "", "config"); len(env) < 2 || got.code != 0 {
			t.Errorf("%s: %d settings, %s", name, len(env), got.stderr)
		}
	}
}

// compose reads the compose file as YAML and returns the program's environment. Every service
// reports whether it is healthy, and waits for those it needs.
func compose(t *testing.T) environment {
	t.Helper()
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Healthcheck struct{ Test []string }
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Volumes     []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		if len(s.Healthcheck.Test) < 2 || s.Healthcheck.Test[0] != "CMD" {
			t.Errorf("%s has no health check", name)
		}
		for on, how := range s.DependsOn {
			if _, ok := file.Services[on]; !ok || how.Condition != "service_healthy" {
				t.Errorf("%s needs %s: %+v", name, on, how)
			}
		}
		for _, v := range s.Volumes {
			if volume, _, _ := strings.Cut(v, ":"); !slices.Contains(slices.Collect(keysOf(file.Volumes)), volume) {
				t.Errorf("%s mounts %s, which is not declared", name, v)
			}
		}
	}
	env := environment{}
	for name, v := range file.Services["sheaf"].Environment {
		env[name] = strings.ReplaceAll(v, "${POSTGRES_PASSWORD:?choose one}", "pw")
	}
	return env
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Every image has its whole version or its digest. A shorter tag may be another program tomorrow.
func TestDeploy_ImagesAreOfOneVersion(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^(scratch|\S+@sha256:[0-9a-f]{64}|golang:\d+\.\d+\.\d+-\S+|postgres:\d+\.\d+-\S+|redis:\d+\.\d+\.\d+-\S+)$`)
	images := 0
	for _, name := range []string{"Dockerfile", "compose.yaml"} {
		for _, m := range regexp.MustCompile(`(?m)^(?:FROM| +image:) +(\S+)`).FindAllStringSubmatch(deployed(t, name), -1) {
			images++
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s takes %s, which does not say which one it is", name, m[1])
			}
		}
	}
	if images != 4 {
		t.Errorf("%d images were found", images)
	}
}

// An alert uses existing metrics, and says what to do.
func TestAlerts_UseExistingMetrics(t *testing.T) {
	t.Parallel()
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "alerts.yml")), &file); err != nil {
		t.Fatal(err)
	}
	described, rules, asked := metricsPage(t), 0, 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%q lacks a name, a severity, a summary or a remedy", r.Alert)
			}
			for _, name := range regexp.MustCompile(`\bsheaf_[a-z_]+`).FindAllString(r.Expr+r.Annotations["description"], -1) {
				asked++
				if !described[name] && !described[strings.TrimSuffix(name, "_bucket")] {
					t.Errorf("%s asks for %s, which there is not", r.Alert, name)
				}
			}
		}
	}
	if rules < 10 || asked < 10 {
		t.Errorf("%d rules ask for %d metrics", rules, asked)
	}
}
