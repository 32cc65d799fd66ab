package sqlledger_test

import (
	"context"
	"database/sql"
	"log"

	_ "modernc.org/sqlite"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"github.com/aicontent/aicontent-go/once/sqlledger"
)

func Example() {
	db, err := sql.Open("sqlite", "/var/lib/illustrator/ledger.db"+sqlledger.SQLiteSettings)
	if err != nil {
		log.Fatal(err)
	}
	if err := sqlledger.Create(context.Background(), db); err != nil { // once, with your other migrations
		log.Fatal(err)
	}
	client, err := aicontent.NewClientFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	names, err := once.New(client, sqlledger.New(db))
	if err != nil {
		log.Fatal(err)
	}
	image, found, err := names.Images.Store(context.Background(), aicontent.ImageStoreParams{
		Name:        "order-4711",
		Description: "A lighthouse on a cliff at dusk",
		Resolution:  aicontent.Resolution512x512,
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Println(image.ID, found)
}
